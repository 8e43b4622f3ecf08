//! Prepares the built-in modules that `cargo xtask setup` built and compiled, so that the program can
//! embed them. Components are compressed here; their code is already. Lists the built-in profiles.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The built-in modules, in the order in which help texts list them.
const MODULES: [&str; 15] = [
    "junit",
    "gojson",
    "tap",
    "sarif",
    "ctrf",
    "items",
    "raw",
    "manual",
    "host-facts",
    "systemd-logs",
    "job",
    "daemonset",
    "causes",
    "known-failures",
    "checks",
];

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-env-changed=PLUMBLINE_MODULES");
    let modules = env::var_os("PLUMBLINE_MODULES").map_or_else(|| here.join("../../target/modules"), PathBuf::from);
    let mut list = format!("static MODULES: [Embedded; {}] = [\n", MODULES.len());
    for name in MODULES {
        for extension in ["wasm", "cwasm"] {
            let file = modules.join(name).with_extension(extension);
            println!("cargo::rerun-if-changed={}", file.display());
            let mut bytes = fs::read(&file).map_err(|error| {
                format!("built-in module {}: {error}; run `cargo xtask setup` first", file.display())
            })?;
            if extension == "wasm" {
                let mut compressed = DeflateEncoder::new(Vec::new(), Compression::default());
                compressed.write_all(&bytes)?;
                bytes = compressed.finish()?;
            }
            fs::write(out.join(name).with_extension(extension), bytes)?;
        }
        writeln!(
            list,
            "    Embedded {{ name: {name:?}, compressed: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\")), \
             component: OnceLock::new(), compiled: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.cwasm\")) }},"
        )?;
    }
    list.push_str("];\n");
    fs::write(out.join("modules.rs"), list)?;
    fs::write(out.join("profiles.rs"), profiles(&here.join("../../plugins/profiles"))?)?;
    Ok(())
}

/// Lists the bundles in `root`: each directory has a definition for a cluster, and its profile.
fn profiles(root: &Path) -> Result<String, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", root.display());
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>()?,
        // Git keeps no empty directory.
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let mut bundles: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    bundles.sort();
    let mut list = "static PROFILES: &[BuiltInProfile] = &[\n".to_owned();
    for bundle in bundles {
        let (definition, profile) = (bundle.join("plugin.yaml"), bundle.join("profile.yaml"));
        let text = fs::read_to_string(&definition).map_err(|error| format!("{}: {error}", definition.display()))?;
        let name = text.lines().find_map(|line| line.trim().strip_prefix("plugin-name:"));
        let name = name.ok_or_else(|| format!("{} has no `plugin-name`", definition.display()))?.trim();
        writeln!(
            list,
            "    BuiltInProfile {{ plugin: BuiltInDefinition {{ name: {name:?}, local: None, \
             cluster: Some(include_str!({definition:?})) }}, profile: include_bytes!({profile:?}) }},"
        )?;
    }
    list.push_str("];\n");
    Ok(list)
}
