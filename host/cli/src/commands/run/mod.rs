//! `plumbline run`

mod cluster;
mod local;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::earlier::{EarlierRun, earlier_run};
use plumbline_app::judges::not_with;
use plumbline_app::options::{LocalRunArgs, RunOptions};
use plumbline_app::suite;

use crate::args::global::Global;
use crate::args::name::Name;
use crate::args::shared::EXIT_CODES;
use crate::logging;
use crate::ui::has_estimates;

pub(crate) use cluster::run as in_cluster;
pub(crate) use local::run as on_this_machine;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    // First, so that help starts with what to run.
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) local: LocalRunArgs,
}

/// Whether the run is followed after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Not at all.
    No,
    /// Until it ends, or at most this long.
    UntilEnd(Option<Duration>),
}

/// Runs plugins in a cluster, or on this machine.
pub(crate) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let RunArgs { local, options } = args;
    let format = local.output_format(options.format)?;
    if let (Some(program), false) = (local.command.first(), local.local) {
        return Err(AppError::usage(format!("`{program}` is a command, but commands run only on this machine"))
            .hint(format!("add `--local`: `plumbline run --local -- {}`", local.command.join(" "))));
    }
    let ended = if local.local || local.resume.is_some() {
        not_local(options)?;
        if local.resume.is_some() {
            not_with(
                &options.judge,
                "a continued run keeps the judges it started with",
                "add lists and checks to the finished archive: `plumbline results ARCHIVE --known-failures FILE`",
            )?;
        }
        on_this_machine(args, format, global)?
    } else {
        logging::init(global);
        in_cluster(options, follows(options)?, global)?
    };
    ended.print(format)?;
    Ok(ended.code)
}

/// Checks that no option is set that changes only what runs in a cluster.
pub(crate) fn not_local(options: &RunOptions) -> Result<(), AppError> {
    suite::not_local(&options.suite)?;
    let env = (!options.cluster_run.plugin_env.is_empty()).then_some("--plugin-env");
    let image = (!options.cluster_run.plugin_image.is_empty()).then_some("--plugin-image");
    match env.or(image) {
        None => Ok(()),
        Some(option) => Err(AppError::usage(format!("`{option}` is for runs in a cluster only"))
            .hint("set the variable in the environment of this command or in the definition, or remove `--local`")),
    }
}

/// How long plugins took in an earlier run that an option names, if the view shows estimates.
fn earlier(options: &RunOptions) -> EarlierRun {
    let archives = [&options.judge.baseline, &options.retention.history].into_iter().flatten();
    let mut known = archives.filter(|_| has_estimates(options.wait_output)).map(|archive| earlier_run(archive));
    known.find(|earlier| !earlier.is_empty()).unwrap_or_default()
}

/// Whether someone waits or watches. `sonobuoy run` returns at once, on a terminal too.
fn follows(options: &RunOptions) -> Result<Follow, AppError> {
    if options.retention.history.is_some() && !options.retrieve {
        return Err(AppError::usage("`--history` needs the archive on this machine, but it stays in the cluster")
            .hint("add `--retrieve`, which downloads it when the run finishes"));
    }
    let watched = || std::io::stderr().is_terminal() && Name::current() == Name::Plumbline;
    match (options.wait, options.retrieve) {
        (Some(Duration::ZERO), true) => {
            Err(AppError::usage("`--retrieve` waits until the run finishes, but `--wait=0` does not wait")
                .hint("remove one of them"))
        }
        (Some(Duration::ZERO), false) => Ok(Follow::No),
        (Some(limit), _) => Ok(Follow::UntilEnd(Some(limit))),
        (None, true) => Ok(Follow::UntilEnd(None)),
        (None, false) => Ok(if watched() { Follow::UntilEnd(None) } else { Follow::No }),
    }
}

/// Whether the run is followed, for commands that download its archive. Without a time limit by
/// default, because each plugin has one. `submitted` if they also submit files of the archive.
pub(crate) fn follows_to_end(options: &RunOptions, submitted: bool) -> Result<Follow, AppError> {
    match options.wait {
        Some(Duration::ZERO) if submitted => {
            Err(AppError::usage("`--submission-dir` needs the archive of the run, but `--wait=0` does not wait for it")
                .hint(
                    "remove `--wait=0`, or run `plumbline conformance submission assemble` when the run has finished",
                ))
        }
        Some(Duration::ZERO) => Ok(Follow::No),
        limit => Ok(Follow::UntilEnd(limit)),
    }
}
