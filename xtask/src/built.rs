//! Builds with cargo, and finds the resulting files.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;

/// The messages of one cargo build.
#[derive(Debug)]
pub(crate) struct Built(Vec<Value>);

/// Runs a `build`, or a `test --no-run`. Diagnostics go to the terminal, and the messages on stdout
/// are collected.
pub(crate) fn build(cargo: &mut Command) -> Result<Built, Error> {
    cargo.arg("--message-format=json-render-diagnostics");
    let output = cargo.stderr(Stdio::inherit()).output().map_err(|source| process::not_started(cargo, source))?;
    if !output.status.success() {
        return Err(Error::Failed { command: process::describe(cargo), status: output.status, output: String::new() });
    }
    Ok(Built::read(&String::from_utf8_lossy(&output.stdout)))
}

/// Builds all tests of the workspace, and the programs that they run. Other selections would compile
/// shared crates again, with other features.
pub(crate) fn tests(workspace: &Workspace) -> Result<Built, Error> {
    build(process::cargo_locked(workspace.root(), "test").args(["--workspace", "--no-run"]))
}

impl Built {
    fn read(messages: &str) -> Self {
        Self(messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Returns the path of the program `name`.
    pub(crate) fn program(&self, name: &str) -> Result<PathBuf, Error> {
        // The unit tests of a program produce a binary with the same name.
        self.executable(name, "bin", false)
    }

    /// Returns the path of the integration tests `name`.
    pub(crate) fn tests(&self, name: &str) -> Result<PathBuf, Error> {
        self.executable(name, "test", true)
    }

    fn executable(&self, name: &str, kind: &str, test: bool) -> Result<PathBuf, Error> {
        let artifact = |message: &Value| {
            let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
            let wanted = text("/reason") == Some("compiler-artifact")
                && text("/target/name") == Some(name)
                && text("/target/kind/0") == Some(kind)
                && message.pointer("/profile/test").and_then(Value::as_bool) == Some(test);
            text("/executable").filter(|_| wanted).map(PathBuf::from)
        };
        let found = self.0.iter().find_map(artifact);
        found.ok_or_else(|| Error::unexpected(format!("cargo did not say where it put `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_distinguished_from_its_own_tests() {
        let built = Built::read(
            "\
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"kube\",\"kind\":[\"lib\"]},\"profile\":{\"test\":false},\"executable\":null}
no JSON
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"e2e\",\"kind\":[\"test\"]},\"profile\":{\"test\":true},\"executable\":\"/t/deps/e2e-1\"}
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"x\",\"kind\":[\"bin\"]},\"profile\":{\"test\":true},\"executable\":\"/t/deps/x-1\"}
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"x\",\"kind\":[\"bin\"]},\"profile\":{\"test\":false},\"executable\":\"/t/x\"}
{\"reason\":\"build-finished\",\"success\":true}
",
        );
        assert_eq!(built.tests("e2e").unwrap(), PathBuf::from("/t/deps/e2e-1"));
        assert_eq!(built.program("x").unwrap(), PathBuf::from("/t/x"));
        assert!(built.program("kube").unwrap_err().to_string().contains("`kube`"));
    }
}
