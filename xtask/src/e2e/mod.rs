//! `cargo xtask e2e`: the tests against a real cluster (docs/e2e.md).

mod interrupt;
mod lab;
mod options;
mod place;
mod suite;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

pub(crate) use options::Options;

use crate::error::Error;
use crate::image;
use crate::paths::Workspace;
use crate::process;
use crate::program;
use crate::report::print_status;
use interrupt::Interrupt;
use lab::Lab;
use options::{Kubernetes, Round};
use place::{Place, Surroundings};
use suite::Suite;

/// Runs all rounds. Stops at the first one that fails, and returns its exit code.
pub(crate) fn e2e(workspace: &Workspace, options: &Options) -> Result<ExitCode, Error> {
    match Place::choose(&Surroundings::look(workspace)?)? {
        Place::Nowhere(reason) => {
            print_status(format_args!("e2e SKIPPED: {reason}"));
            Ok(ExitCode::SUCCESS)
        }
        Place::Given { kubeconfig, image, binary } => given(workspace, options, kubeconfig, image, binary),
        Place::Lab { scripts, state } => in_lab(workspace, options, &scripts, state),
    }
}

/// Runs benchmarks against a control plane on this machine with simulated nodes.
pub(crate) fn bench(workspace: &Workspace, program: &Path, args: &[OsString]) -> Result<ExitCode, Error> {
    let Place::Lab { scripts, state } = Place::choose(&Surroundings::look(workspace)?)? else {
        print_status("benchmarks with a real API server SKIPPED: no cluster can be put up here (docs/e2e.md)");
        return Ok(ExitCode::SUCCESS);
    };
    let interrupt = Interrupt::catch()?;
    let scripts = lab::Scripts::new(&scripts, state)?;
    scripts.build(Some("kwok"), &interrupt)?;
    let lab = Lab::control_plane(&scripts, &interrupt)?;
    let mut command = lab.inside(program);
    command.arg("bench").args(args).current_dir(workspace.root()).stdout(Stdio::inherit());
    command.arg("--kubeconfig").arg(lab.kubeconfig()).arg("--kwok").arg(lab.kwok());
    command.arg("--kubelet-certificate").arg(lab.kubelet_certificate()).arg("--sonobuoy").arg(lab.sonobuoy());
    Ok(ExitCode::from(process::exit_code(process::status(&mut command)?)))
}

/// Runs the tests against an existing cluster. The tests find out how many nodes it has.
fn given(
    workspace: &Workspace,
    options: &Options,
    kubeconfig: PathBuf,
    image: String,
    binary: Option<PathBuf>,
) -> Result<ExitCode, Error> {
    let binary = match binary {
        Some(binary) => binary,
        None => program::build(workspace)?,
    };
    let suite = Suite { tests: Suite::build(workspace)?, image, binary };
    let interrupt = Interrupt::catch()?;
    suite.run(&interrupt, None, &Round::ALL, Some(&kubeconfig), options)
}

/// Runs the tests against a cluster that is started on this machine.
fn in_lab(workspace: &Workspace, options: &Options, scripts: &Path, state: PathBuf) -> Result<ExitCode, Error> {
    // Build everything before the cluster starts: it would compete for the processors, and builds
    // need the network outside of it.
    let (tests, built) = if options.tests_binary {
        crate::tasks::setup(workspace)?;
        let (tests, binary) = Suite::build_with_program(workspace)?;
        (tests, image::make(workspace, &image::Options::of_tests(Some(binary)))?)
    } else {
        let built = image::make(workspace, &image::Options::of_tests(None))?;
        (Suite::build(workspace)?, built)
    };
    let suite = Suite { tests, image: built.name, binary: built.binary };
    let interrupt = Interrupt::catch()?;
    let mut scripts = lab::Scripts::new(scripts, state)?;
    let versions = match &options.kubernetes {
        Kubernetes::Newest => vec![None],
        Kubernetes::Version(version) => vec![Some(version.clone())],
        Kubernetes::All => scripts.versions()?.into_iter().map(Some).collect(),
    };
    let (mut code, mut table) = (ExitCode::SUCCESS, Vec::new());
    for version in versions {
        let (start, shown) = (Instant::now(), version.clone());
        scripts = scripts.with_kubernetes(version);
        let ended = on_version(&scripts, &suite, &built.archive, options, &interrupt)?;
        let result = if ended == ExitCode::SUCCESS { "passed" } else { "failed" };
        if ended != ExitCode::SUCCESS {
            code = ended;
        }
        table.extend(shown.map(|version| format!("{version:<9} {result} {:>4} s", start.elapsed().as_secs())));
    }
    table.iter().for_each(|line| print_status(format_args!("e2e: Kubernetes {line}")));
    Ok(code)
}

/// Runs all rounds on one version of Kubernetes. Stops at the first one that fails, and returns its
/// exit code.
fn on_version(
    scripts: &lab::Scripts,
    suite: &Suite,
    image: &Path,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<ExitCode, Error> {
    let rounds = options.rounds();
    scripts.build(rounds.iter().any(Round::runs_the_suite).then_some("suite"), interrupt)?;
    for round in rounds {
        print_status(format_args!("e2e: {round}"));
        let lab = Lab::up(scripts, round.nodes, options.keep, interrupt)?;
        lab.load(image, interrupt)?;
        lab.push(image, interrupt)?;
        if round.runs_the_suite() {
            lab.push_suite(interrupt)?;
        }
        let code = suite.run(interrupt, Some(&lab), &round, None, options)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}
