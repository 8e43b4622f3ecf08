//! The test binary, which cargo builds and which runs where the cluster is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::counts::Counts;
use super::interrupt::Interrupt;
use super::lab::Lab;
use super::options::{Options, Round};
use crate::built;
use crate::debian_tools;
use crate::error::Error;
use crate::go_tools;
use crate::npm_tools;
use crate::paths::Workspace;
use crate::process;
use crate::program::PROGRAM;
use crate::python_tools;
use crate::report::print_status;
use crate::target_std::{self, Target};

/// The name of the test target.
const TARGET: &str = "e2e";
/// More threads than tests that run in parallel, because tests that run alone wait for the others.
const THREADS: &str = "--test-threads=12";

/// The tests, ready to run.
#[derive(Debug)]
pub(crate) struct Suite {
    /// The path of the test binary.
    pub(crate) tests: PathBuf,
    /// The image that the tests run in the cluster.
    pub(crate) image: String,
    /// The program that the tests run.
    pub(crate) binary: PathBuf,
    /// The programs of others that only some tests run, each with the variable that passes its path.
    pub(crate) tools: Vec<(&'static str, OsString)>,
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

    /// Returns the programs of others that the tests need: Helm, and if `options` ask for it, Hydrophone
    /// and the compilers of modules. Missing ones are installed, or reported and left out.
    pub(crate) fn tools(options: &Options) -> Vec<(&'static str, OsString)> {
        let helm = go_tools::HELM;
        let mut tools: Vec<_> = helm.ensure().map(|program| (helm.variable, program)).into_iter().collect();
        if options.interop {
            let hydrophone = go_tools::HYDROPHONE;
            tools.extend(hydrophone.ensure().map(|program| (hydrophone.variable, program)));
        }
        if options.long {
            tools.extend(python_tools::ensure());
            tools.extend(npm_tools::ensure());
        }
        tools
    }

    /// Runs a round, and returns the exit code of the tests, and their numbers.
    pub(crate) fn run(
        &self,
        interrupt: &Interrupt,
        lab: Option<&Lab<'_>>,
        round: &Round,
        kubeconfig: Option<&Path>,
        options: &Options,
    ) -> Result<(ExitCode, Counts), Error> {
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
            .envs(self.tools.iter().map(|(variable, program)| (*variable, program)))
            // Tests build the components of examples, and new checks.
            .envs(target_std::ensure(Target::MODULE)?.variable())
            .stdin(Stdio::null());
        if let Some(lab) = lab {
            command.env("PLUMBLINE_E2E_NODE_COMMAND", lab.node_command());
            command.env("PLUMBLINE_E2E_SONOBUOY", lab.sonobuoy());
            // The registries that the scripts start.
            command.env("PLUMBLINE_E2E_CLOSED_REGISTRY", "user:secret@10.99.0.1:5001");
            command.env("PLUMBLINE_E2E_REGISTRY", "10.99.0.1:5000");
            if round.runs_the_suite() {
                command.env("PLUMBLINE_E2E_SUITES", lab.suites());
            }
        }
        command.args([THREADS]).args(round.filter()).args(&options.args);
        // A user who selects tests has selected these too.
        let long: &[&str] = if options.long || !options.args.is_empty() { &[] } else { round.long() };
        if !long.is_empty() {
            print_status(format_args!("skipped: {}, which take minutes; `--long` runs them", long.join(", ")));
            command.args(long.iter().flat_map(|tests| ["--skip", tests]));
        }
        let (status, counts) = Counts::of(&mut command, interrupt)?;
        Ok((ExitCode::from(process::exit_code(status)), counts))
    }
}
