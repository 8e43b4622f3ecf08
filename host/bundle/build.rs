//! Prepares the built-in modules that `cargo xtask setup` built and compiled, so that the program can
//! embed them. Components are compressed here; their code is already. Lists the built-in profiles.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::DeflateEncoder;

#[path = "build/profiles.rs"]
mod profiles;

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
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=PLUMBLINE_PROFILES");
    let named = env::var_os("PLUMBLINE_PROFILES").map(PathBuf::from);
    let bundles = named.clone().unwrap_or_else(|| here.join("../../plugins/profiles"));
    println!("cargo::rerun-if-changed={}", bundles.display());
    // Included files need absolute paths.
    let bundles = bundles.canonicalize().unwrap_or(bundles);
    let declare = if named.is_some() { profiles::named_declaration } else { profiles::declaration };
    fs::write(out.join("profiles.rs"), declare(&bundles)?)?;
    // For a test: the same declaration, without any bundle.
    fs::write(out.join("no_profiles.rs"), profiles::declaration(&out.join("no-profiles"))?)?;
    Ok(())
}
