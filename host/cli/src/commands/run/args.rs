//! The options of `plumbline run`.

use std::io::IsTerminal as _;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::earlier::{EarlierRun, earlier_run};
use plumbline_app::options::{LocalRunArgs, RunOptions};

use crate::args::name::Name;
use crate::args::shared::EXIT_CODES;
use crate::ui::has_estimates;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    // First, so that help starts with what to run.
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) local: LocalRunArgs,
}

/// How long plugins took in an earlier run that an option names, if the view shows estimates.
pub(super) fn earlier(options: &RunOptions) -> EarlierRun {
    let archives = [&options.judge.baseline, &options.retention.history].into_iter().flatten();
    let mut known = archives.filter(|_| has_estimates(options.wait_output)).map(|archive| earlier_run(archive));
    known.find(|earlier| !earlier.is_empty()).unwrap_or_default()
}

/// Whether someone waits or watches. `sonobuoy run` returns at once, on a terminal too.
pub(super) fn follows(options: &RunOptions) -> Result<Follow, AppError> {
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

/// Whether the run is followed after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Not at all.
    No,
    /// Until it ends, or at most this long.
    UntilEnd(Option<Duration>),
}
