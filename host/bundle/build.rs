//! Prepares the built-in modules that `cargo xtask setup` built and compiled, so that the program can
//! embed them. Components are compressed here; their code is already.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

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
    Ok(())
}
