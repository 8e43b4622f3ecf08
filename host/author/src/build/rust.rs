//! The build of Rust modules: a `cdylib` for `wasm32-unknown-unknown`, found in cargo's messages.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::tool::{CARGO, Say, describe, failed};
use crate::error::AuthorError;
use crate::project::{Project, read_text};

/// The target of modules. It has no WASI, so a module cannot import it.
const TARGET: &str = "wasm32-unknown-unknown";
/// Maximum size in bytes of one message from cargo: a diagnostic quotes code, but not whole files.
const MAX_MESSAGE: u64 = 16 << 20;
/// Maximum size in bytes of a cargo configuration file.
const MAX_CONFIG: u64 = 1 << 20;
/// How to install the target's standard library.
const TARGET_HINT: &str = "`rustup target add wasm32-unknown-unknown`; where rustup cannot add it, `cargo xtask setup` in a checkout of plumbline makes it once below `~/.cache/plumbline/wasm-std`: build with `CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=--sysroot=DIR`, where `DIR` is the directory in there";
/// The variable with which users pass flags to rustc for this target.
const FLAGS: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let mut cargo = Command::new(CARGO.find(&project.directory)?);
    // Without this check, cargo compiles every build script and macro first, and then reports that
    // `core` is missing.
    if !has_own_target(&project.directory)
        && let Some(missing) = missing_target(&project.directory)
    {
        return Err(AuthorError::system(format!("the target {TARGET} is not installed"))
            .because(missing)
            .hint(TARGET_HINT));
    }
    cargo.current_dir(&project.directory).args(["build", "--release", "--target", TARGET]);
    // Use cargo's own target directory. It already holds the output of `cargo test` and of other
    // members of a workspace.
    cargo.arg("--message-format=json-render-diagnostics");
    say(&format!("$ {}", describe(&cargo)));
    // Cargo prints diagnostics on standard error. Its standard output is for this program.
    let mut child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| AuthorError::system("failed to start `cargo`").because(error).hint(CARGO.hint))?;
    let manifest = project.directory.join("Cargo.toml");
    let found = child.stdout.take().map(|stdout| artifact(BufReader::new(stdout), &manifest)).unwrap_or_default();
    let status = child.wait().map_err(|error| AuthorError::system("failed to wait for `cargo`").because(error))?;
    if !status.success() {
        return Err(match missing_target(&project.directory) {
            Some(missing) => failed(&cargo, &status.to_string(), TARGET_HINT).because(missing),
            None => failed(&cargo, &status.to_string(), "see the compiler's messages above"),
        });
    }
    found.ok_or_else(|| {
        AuthorError::input(format!("cargo produced no module of `{}`", manifest.display()))
            .hint("the package's library needs `crate-type = [\"cdylib\", \"rlib\"]` under `[lib]`")
    })
}

/// Finds the module in cargo's messages: the `cdylib` of the package with this manifest.
fn artifact(mut messages: impl BufRead, manifest: &Path) -> Option<PathBuf> {
    let mut found = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        // Read everything in any case, or cargo would block.
        match (&mut messages).take(MAX_MESSAGE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return found,
            Ok(_) => {}
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        let kinds = message.pointer("/target/kind").and_then(Value::as_array).into_iter().flatten();
        let library = kinds.filter_map(Value::as_str).any(|kind| kind == "cdylib");
        if text("reason") == "compiler-artifact" && library && Path::new(text("manifest_path")) == manifest {
            let files = message.get("filenames").and_then(Value::as_array).into_iter().flatten();
            let wasm = |file: &&str| file.ends_with(".wasm");
            found = files.filter_map(Value::as_str).find(wasm).map(PathBuf::from).or(found);
        }
    }
}

/// Returns why nothing can be compiled for the target, if that is known: its standard library is
/// missing.
///
/// The toolchain is that of `directory`, where a `rust-toolchain.toml` may choose one.
pub(super) fn missing_target(directory: &Path) -> Option<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    if directory.is_dir() {
        command.current_dir(directory);
    }
    // Users who pass `--sysroot` have the standard library elsewhere.
    let flags = env::var(FLAGS).or_else(|_| env::var("RUSTFLAGS")).unwrap_or_default();
    command.args(flags.split_whitespace().filter(|flag| flag.starts_with("--sysroot")));
    command.args(["--target", TARGET, "--print", "target-libdir"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    let there = directory.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    (!there).then(|| format!("found no standard library for {TARGET} in `{}`", directory.display()))
}

/// Returns whether a cargo configuration sets the source of the target's standard library. In that
/// case only cargo knows.
fn has_own_target(directory: &Path) -> bool {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let above = directory.ancestors().map(|directory| directory.join(".cargo"));
    let files = above.chain(home).flat_map(|directory| [directory.join("config.toml"), directory.join("config")]);
    let mentions = |text: &str| text.contains("sysroot") || text.contains("build-std");
    files.filter_map(|file| read_text(&file, MAX_CONFIG).ok()).any(|text| mentions(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_found_among_cargos_messages() {
        let line = |manifest: &str, kind: &str, file: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{manifest}","target":{{"kind":["{kind}","rlib"]}},"filenames":["x.rlib","{file}"]}}"#
            )
        };
        let messages = [
            line("/p/sdk/Cargo.toml", "cdylib", "/t/sdk.wasm"),
            "rubbish".to_owned(),
            line("/p/Cargo.toml", "cdylib", "/t/p.wasm"),
            line("/p/Cargo.toml", "bin", "/t/other.wasm"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = artifact(messages.join("\n").as_bytes(), Path::new("/p/Cargo.toml"));
        assert_eq!(found, Some(PathBuf::from("/t/p.wasm")));
        assert_eq!(artifact("".as_bytes(), Path::new("/p/Cargo.toml")), None);
    }
}
