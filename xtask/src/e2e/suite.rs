//! The test binary: built by cargo, run where the cluster is.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::interrupt::Interrupt;
use super::lab::Lab;
use super::options::{Options, Round};
use crate::built;
use crate::debian_tools;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::say;

/// The tests' target.
const TARGET: &str = "e2e";
/// The program that they run.
const PROGRAM: &str = "plumbline";
/// How many tests run at once: each has a run of its own in the cluster, and a node of a small cluster has room for a few. Mostly they wait.
const THREADS: &str = "--test-threads=4";

/// The tests, ready to be run.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The tests.
    pub(crate) tests: PathBuf,
    /// What they have the cluster run.
    pub(crate) image: String,
    /// The program that they run themselves.
    pub(crate) binary: PathBuf,
}

impl Suite {
    /// Builds the tests alone.
    pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf, Error> {
        say("building the end-to-end tests");
        // With the features of the whole workspace, as all other tests: what they share is not compiled anew.
        let mut cargo = process::cargo_locked(workspace.root(), "test");
        built::build(cargo.args(["--workspace", "--test", TARGET, "--no-run"]))?.tests(TARGET)
    }

    /// Builds all tests of the workspace: gives these, and the program as those of the command line run it.
    pub(crate) fn build_with_program(workspace: &Workspace) -> Result<(PathBuf, PathBuf), Error> {
        say("building the tests and the program");
        let mut cargo = process::cargo_locked(workspace.root(), "test");
        let built = built::build(cargo.args(["--workspace", "--no-run"]))?;
        Ok((built.tests(TARGET)?, built.program(PROGRAM)?))
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
            .envs(debian_tools::ensure())
            .stdin(Stdio::null());
        if let Some(lab) = lab {
            command.env("PLUMBLINE_E2E_NODE_COMMAND", lab.node_command());
            command.env("PLUMBLINE_E2E_SONOBUOY", lab.sonobuoy());
            // As the scripts serve them.
            command.env("PLUMBLINE_E2E_CLOSED_REGISTRY", "user:secret@10.99.0.1:5001");
            if round.runs_the_suite() {
                command.env("PLUMBLINE_E2E_REGISTRY", "10.99.0.1:5000");
            }
        }
        command.args([THREADS]).args(round.filter()).args(&options.args);
        Ok(ExitCode::from(process::exit_code(interrupt.status(&mut command)?)))
    }
}
