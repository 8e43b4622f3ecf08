//! Embeds the contract, the SDKs and the templates in the program, so that `plugin new` needs
//! nothing else. The result is a table of paths and bytes.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[path = "build/manifest.rs"]
mod manifest;

/// The directories below `plugin-sdk/` to embed. One that does not exist is left out.
const SDK: [&str; 6] = ["rust", "go", "js", "python", "c", "templates"];
/// Directories that tools create, at any depth.
const SKIPPED: [&str; 6] = ["target", "node_modules", "build", "__pycache__", "dist", "coverage"];
/// The SDK's own tests, which its users do not need.
const TESTS: [&str; 2] = ["tests", "test"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("wit"))? {
        let path = entry?.path();
        // Skip the directories of older generations, which only the host needs.
        if path.extension().is_some_and(|extension| extension == "wit") {
            files.push((format!("wit/{}", name(&path)?), path));
        }
    }
    watch(&root.join("wit"))?;
    for sdk in SDK {
        let directory = root.join("plugin-sdk").join(sdk);
        if directory.is_dir() {
            watch(&directory)?;
            walk(&directory, &format!("plugin-sdk/{sdk}"), sdk != "templates", &mut files)?;
        }
    }
    files.sort();
    let workspace = root.join("Cargo.toml");
    println!("cargo::rerun-if-changed={}", workspace.display());
    let mut table = String::from("&[\n");
    for (shown, path) in files {
        let mut source = path.clone();
        if shown == "plugin-sdk/rust/Cargo.toml" {
            source = out.join("sdk-rust-Cargo.toml");
            let alone = manifest::standalone(&fs::read_to_string(&path)?, &fs::read_to_string(&workspace)?)
                .map_err(|line| format!("{}: {line}", path.display()))?;
            fs::write(&source, alone)?;
        }
        let executable = path.metadata()?.permissions().mode() & 0o111 != 0;
        writeln!(
            table,
            "    Embedded {{ path: {shown:?}, bytes: include_bytes!({:?}), executable: {executable} }},",
            source.to_str().ok_or("paths must be UTF-8")?
        )?;
    }
    table.push(']');
    fs::write(out.join("embedded.rs"), table)?;
    Ok(())
}

/// Appends all files below `directory`, as `shown/…`.
fn walk(directory: &Path, shown: &str, is_sdk: bool, files: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let name = name(&path)?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let left_out =
                SKIPPED.contains(&name.as_str()) || name.starts_with('.') || is_sdk && TESTS.contains(&name.as_str());
            if !left_out {
                walk(&path, &format!("{shown}/{name}"), false, files)?;
            }
        } else if kind.is_file() {
            files.push((format!("{shown}/{name}"), path));
        }
    }
    Ok(())
}

fn name(path: &Path) -> Result<String, Box<dyn Error>> {
    let name = path.file_name().and_then(|name| name.to_str());
    Ok(name.ok_or_else(|| format!("{}: names must be UTF-8", path.display()))?.to_owned())
}

/// Tells cargo which files to watch, and returns whether `directory` has none of the directories
/// that tools create.
///
/// Cargo watches a directory with everything below it, including what tools create there. A
/// directory that contains such a directory is therefore watched file by file. A new file in it is
/// noticed with the next change.
fn watch(directory: &Path) -> Result<bool, Box<dyn Error>> {
    let mut clean = true;
    let mut below = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = name(&path)?;
        if !path.is_dir() {
            below.push(path);
        } else if SKIPPED.contains(&name.as_str()) || name.starts_with('.') {
            clean = false;
        } else {
            clean &= watch(&path)?;
            below.push(path);
        }
    }
    if clean {
        println!("cargo::rerun-if-changed={}", directory.display());
    } else {
        for path in below.iter().filter(|path| path.is_file()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Ok(clean)
}
