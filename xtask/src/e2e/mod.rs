//! `cargo xtask e2e`: the tests against a real cluster (docs/e2e.md).

mod counts;
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
use crate::report::{line, print_status};
use counts::Counts;
use interrupt::Interrupt;
use lab::Lab;
use options::{Kubernetes, Round};
use place::{Place, Surroundings};
use suite::Suite;

/// Runs all rounds, and returns the exit code of the last one that failed.
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

/// Runs benchmarks against a control plane on this machine with simulated nodes. For `sonobuoy`, then
/// also the one that needs a real node.
pub(crate) fn bench(workspace: &Workspace, program: &Path, args: &[OsString]) -> Result<ExitCode, Error> {
    let Place::Lab { scripts, state } = Place::choose(&Surroundings::look(workspace)?)? else {
        print_status("benchmarks with a real API server SKIPPED: no cluster can be put up here (docs/e2e.md)");
        return Ok(ExitCode::SUCCESS);
    };
    // Build the image before a cluster starts, because it would compete for the processors.
    let image = match args.iter().any(|arg| arg == "sonobuoy") {
        true => Some(image::make(workspace, &image::Options::of_tests(None))?),
        false => None,
    };
    let interrupt = Interrupt::catch()?;
    let scripts = lab::Scripts::new(&scripts, state)?;
    scripts.build(Some("kwok"), &interrupt)?;
    let lab = Lab::control_plane(&scripts, &interrupt)?;
    let mut command = lab.inside(program);
    command.arg("bench").args(args).current_dir(workspace.root()).stdout(Stdio::inherit());
    command.arg("--kubeconfig").arg(lab.kubeconfig()).arg("--kwok").arg(lab.kwok());
    command.arg("--kubelet-certificate").arg(lab.kubelet_certificate()).arg("--sonobuoy").arg(lab.sonobuoy());
    command.arg("--postprocess").arg(lab.postprocess());
    let status = process::status(&mut command)?;
    drop(lab);
    match image {
        Some(image) if status.success() => bench_downloads(workspace, program, &scripts, &image, &interrupt),
        _ => Ok(ExitCode::from(process::exit_code(status))),
    }
}

/// Runs the benchmark of downloads against a cluster with one real node.
fn bench_downloads(
    workspace: &Workspace,
    program: &Path,
    scripts: &lab::Scripts,
    image: &image::Built,
    interrupt: &Interrupt,
) -> Result<ExitCode, Error> {
    let lab = Lab::up(scripts, 1, false, interrupt)?;
    lab.load(&image.archive, interrupt)?;
    let mut command = lab.inside(program);
    command.args(["bench", "downloads"]).current_dir(workspace.root()).stdout(Stdio::inherit());
    command.arg("--kubeconfig").arg(lab.kubeconfig()).arg("--sonobuoy").arg(lab.sonobuoy());
    command.arg("--image").arg(&image.name);
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
    let suite = Suite { tests: Suite::build(workspace)?, image, binary, tools: Suite::tools(options) };
    let interrupt = Interrupt::catch()?;
    Ok(suite.run(&interrupt, None, &Round::ALL, Some(&kubeconfig), options)?.0)
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
    let tools = Suite::tools(options);
    let suite = Suite { tests, image: built.name, binary: built.binary, tools };
    let interrupt = Interrupt::catch()?;
    let mut scripts = lab::Scripts::new(scripts, state)?;
    let versions = match &options.kubernetes {
        Kubernetes::Newest => vec![None],
        Kubernetes::Version(version) => vec![Some(version.clone())],
        Kubernetes::All => scripts.versions()?.into_iter().map(Some).collect(),
    };
    let (mut code, mut table) = (ExitCode::SUCCESS, Vec::new());
    for version in versions {
        let start = Instant::now();
        scripts = scripts.with_kubernetes(version);
        let (ended, counts) = on_version(&scripts, &suite, &built.archive, options, &interrupt)?;
        if ended != ExitCode::SUCCESS {
            code = ended;
        }
        table.push(format!("| {} | {counts} | {} s |", scripts.kubernetes()?, start.elapsed().as_secs()));
    }
    line("| Kubernetes | passed | skipped | failed | duration |\n|---|---|---|---|---|");
    table.iter().for_each(line);
    Ok(code)
}

/// Runs all rounds on one version of Kubernetes. Returns the exit code of the last one that failed,
/// and the numbers of tests.
fn on_version(
    scripts: &lab::Scripts,
    suite: &Suite,
    image: &Path,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<(ExitCode, Counts), Error> {
    let (mut code, mut counts) = (ExitCode::SUCCESS, Counts::default());
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
        let (ended, of_round) = suite.run(interrupt, Some(&lab), &round, None, options)?;
        if ended != ExitCode::SUCCESS {
            code = ended;
        }
        counts += of_round;
    }
    Ok((code, counts))
}
