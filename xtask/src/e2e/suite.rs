//! The test binary: built by cargo, run where the cluster is.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

use super::interrupt::Interrupt;
use super::lab::Lab;
use super::options::{Options, Round};
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::say;

/// The package of the tests, and the name of their binary.
const PACKAGE: &str = "plumbline-e2e";
const TARGET: &str = "e2e";
/// How many tests run at once: each has a run of its own in the cluster, and a node of a small cluster has room for a few.
const THREADS: &str = "--test-threads=2";

/// The tests, ready to be run.
#[derive(Debug)]
pub(crate) struct Suite {
    tests: PathBuf,
    image: String,
    binary: PathBuf,
}

impl Suite {
    /// Builds the tests, which will run `binary` and have the cluster run `image`.
    pub(crate) fn build(workspace: &Workspace, image: String, binary: PathBuf) -> Result<Self, Error> {
        say("building the end-to-end tests");
        let mut cargo = process::cargo_locked(workspace.root(), "test");
        cargo.args(["-p", PACKAGE, "--test", TARGET, "--no-run", "--message-format=json-render-diagnostics"]);
        // What cargo says stays on the terminal; what it prints is for us.
        let output = cargo
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| Error::Start { program: "cargo".to_owned(), source })?;
        if !output.status.success() {
            return Err(Error::Failed {
                command: format!("cargo test -p {PACKAGE} --no-run"),
                status: output.status,
                output: String::new(),
            });
        }
        let tests = executable(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| Error::unexpected(format!("cargo did not say where the tests of `{PACKAGE}` are")))?;
        Ok(Self { tests, image, binary })
    }

    /// Runs a round; the exit code is that of the tests.
    pub(crate) fn run(
        &self,
        interrupt: &Interrupt,
        lab: Option<&Lab<'_>>,
        round: &Round,
        kubeconfig: Option<&Path>,
        options: &Options,
    ) -> Result<ExitCode, Error> {
        let mut command = match lab {
            Some(lab) => lab.inside(&self.tests),
            None => Command::new(&self.tests),
        };
        let kubeconfig = kubeconfig.map(Path::to_path_buf).or_else(|| lab.map(Lab::kubeconfig)).unwrap_or_default();
        command
            .env("PLUMBLINE_E2E_KUBECONFIG", kubeconfig)
            .env("PLUMBLINE_E2E_IMAGE", &self.image)
            .env("PLUMBLINE_E2E_BINARY", &self.binary)
            .stdin(Stdio::null());
        if let Some(lab) = lab {
            command.env("PLUMBLINE_E2E_NODE_COMMAND", lab.node_command());
        }
        command.args([THREADS]).args(round.filter()).args(&options.args);
        Ok(ExitCode::from(process::exit_code(interrupt.status(&mut command)?)))
    }
}

/// The test binary, from what cargo tells about each thing that it built.
fn executable(messages: &str) -> Option<PathBuf> {
    let artifact = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let ours = text("/reason") == Some("compiler-artifact") && text("/target/name") == Some(TARGET);
        text("/executable").filter(|_| ours).map(PathBuf::from)
    };
    messages.lines().find_map(artifact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_what_was_built() {
        let messages = "\
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"kube\"},\"executable\":null}
no JSON
{\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"e2e\"},\"executable\":\"/t/debug/deps/e2e-1\"}
{\"reason\":\"build-finished\",\"success\":true}
";
        assert_eq!(executable(messages), Some("/t/debug/deps/e2e-1".into()));
        assert_eq!(executable(""), None);
    }
}
