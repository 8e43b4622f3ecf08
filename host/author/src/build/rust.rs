//! Rust: a `cdylib` for `wasm32-unknown-unknown`, found by what cargo says of it.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::step::{Say, describe, failed};
use super::tool::CARGO;
use crate::project::{AuthorError, Project, read_text};

/// What modules are compiled for: nothing of WASI, so none is imported.
const TARGET: &str = "wasm32-unknown-unknown";
/// Bytes of one of cargo's messages: a diagnostic quotes code, but no file.
const MAX_MESSAGE: u64 = 16 << 20;
/// Bytes of a configuration of cargo.
const MAX_CONFIG: u64 = 1 << 20;
/// How the target's standard library is to be had.
const TARGET_HINT: &str = "`rustup target add wasm32-unknown-unknown`; where rustup cannot add it, `cargo xtask setup` in a checkout of plumbline makes it once below `~/.cache/plumbline/wasm-std`: build with `CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS=--sysroot=DIR`, where `DIR` is the directory in there";
/// The variable with which cargo's caller says how this target is compiled.
const FLAGS: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS";

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let mut cargo = Command::new(CARGO.find(&project.directory)?);
    // Otherwise cargo compiles every build script and macro first, and then says that there is no `core`.
    if !has_own_target(&project.directory)
        && let Some(missing) = missing_target(&project.directory)
    {
        return Err(AuthorError::system(format!("the target {TARGET} is not installed"))
            .because(missing)
            .hint(TARGET_HINT));
    }
    cargo.current_dir(&project.directory).args(["build", "--release", "--target", TARGET]);
    // Into the target directory that it has anyway: what `cargo test` compiled, and what other members of a workspace did, is there.
    cargo.arg("--message-format=json-render-diagnostics");
    say(&format!("$ {}", describe(&cargo)));
    // What cargo tells people goes to standard error by itself; standard output is for us.
    let mut child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| AuthorError::system("failed to start `cargo`").because(error).hint(CARGO.hint))?;
    let manifest = project.directory.join("Cargo.toml");
    let found = child.stdout.take().map(|stdout| artifact(BufReader::new(stdout), &manifest)).unwrap_or_default();
    let status = child.wait().map_err(|error| AuthorError::system("`cargo` cannot be waited for").because(error))?;
    if !status.success() {
        return Err(match missing_target(&project.directory) {
            Some(missing) => failed(&cargo, &status.to_string(), TARGET_HINT).because(missing),
            None => failed(&cargo, &status.to_string(), "the compiler's messages stand above"),
        });
    }
    found.ok_or_else(|| {
        AuthorError::input(format!("cargo made no module of `{}`", manifest.display()))
            .hint("the package's library needs `crate-type = [\"cdylib\", \"rlib\"]` under `[lib]`")
    })
}

/// The module among what cargo says that it made: the `cdylib` of the package with that manifest.
fn artifact(mut messages: impl BufRead, manifest: &Path) -> Option<PathBuf> {
    let mut found = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        // All of it is read in any case: cargo would wait for us.
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

/// Why nothing can be compiled for the target here, if that can be told: its standard library is missing.
///
/// The toolchain is that of `directory`, where a `rust-toolchain.toml` may choose one.
pub(super) fn missing_target(directory: &Path) -> Option<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    if directory.is_dir() {
        command.current_dir(directory);
    }
    // Whoever gives other flags has a standard library in another place.
    let flags = env::var(FLAGS).or_else(|_| env::var("RUSTFLAGS")).unwrap_or_default();
    command.args(flags.split_whitespace().filter(|flag| flag.starts_with("--sysroot")));
    command.args(["--target", TARGET, "--print", "target-libdir"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
    let there = directory.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    (!there).then(|| format!("there is no standard library for {TARGET} in `{}`", directory.display()))
}

/// Whether a configuration of cargo says where the target's standard library comes from: then only cargo knows.
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
