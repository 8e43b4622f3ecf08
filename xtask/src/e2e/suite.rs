//! The test binary, which cargo builds and which runs where the cluster is.

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
use crate::program::PROGRAM;
use crate::report::print_status;
use crate::target_std::{self, Target};

/// The name of the test target.
const TARGET: &str = "e2e";
/// Number of tests that run in parallel. Each has its own run in the cluster, and a node of a small
/// cluster has room for a few. Most of the time they wait.
const THREADS: &str = "--test-threads=6";

/// The tests, ready to run.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The path of the test binary.
    pub(crate) tests: PathBuf,
    /// The image that the tests run in the cluster.
    pub(crate) image: String,
    /// The program that the tests run.
    pub(crate) binary: PathBuf,
}

impl Suite {
    /// Builds only these tests.
    pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf, Error> {
        print_status("building the end-to-end tests");
        // Use the features of the whole workspace, like all other tests, so that shared crates are
        // not compiled again.
        let mut cargo = process::cargo_locked(workspace.root(), "test");
        built::build(cargo.args(["--workspace", "--test", TARGET, "--no-run"]))?.tests(TARGET)
    }

    /// Builds all tests of the workspace. Returns the paths of these tests, and of the program as
    /// the tests of the command line run it.
    pub(crate) fn build_with_program(workspace: &Workspace) -> Result<(PathBuf, PathBuf), Error> {
        print_status("building the tests and the program");
        let built = built::tests(workspace)?;
        Ok((built.tests(TARGET)?, built.program(PROGRAM)?))
    }

    /// Runs a round, and returns the exit code of the tests.
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
            // A test builds the component of an example.
            .envs(target_std::ensure(Target::MODULE)?.variable())
            .stdin(Stdio::null());
        if let Some(lab) = lab {
            command.env("PLUMBLINE_E2E_NODE_COMMAND", lab.node_command());
            command.env("PLUMBLINE_E2E_SONOBUOY", lab.sonobuoy());
            // The registry that the scripts start.
            command.env("PLUMBLINE_E2E_CLOSED_REGISTRY", "user:secret@10.99.0.1:5001");
            if round.runs_the_suite() {
                command.env("PLUMBLINE_E2E_REGISTRY", "10.99.0.1:5000");
                command.env("PLUMBLINE_E2E_SUITES", lab.suites());
            }
        }
        command.args([THREADS]).args(round.filter()).args(&options.args);
        Ok(ExitCode::from(process::exit_code(interrupt.status(&mut command)?)))
    }
}
