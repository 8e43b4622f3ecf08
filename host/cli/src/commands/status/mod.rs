//! `plumbline status`

mod cluster;
mod local;
mod table;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::report::status::{how, notes, sentence};
use plumbline_app::report::text::one_line;
use plumbline_core::run_status::RunPhase;
use plumbline_core::{Verdict, text};
use plumbline_kubernetes::status::{Seen, StatusError};

use crate::args::shared::EXIT_CODES;
use crate::args::{ExitCodes, Global};
use crate::commands::cluster::ClusterArgs;
use crate::compat::Name;
use crate::error::{PrintError as _, fitting, verdict_code};
use crate::output::print;
use crate::ui::say;

pub(crate) use cluster::document as run_document;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Show a run on this machine instead of one in a cluster
    #[arg(long, conflicts_with_all = ["namespace", "kubeconfig", "context"])]
    pub(crate) local: bool,
    /// Id of the local run, or its first characters [default: the newest run]
    #[arg(requires = "local")]
    pub(crate) run: Option<String>,
    /// Print one line per expected result
    #[arg(long)]
    pub(crate) show_all: bool,
    /// Print the status annotation of the aggregator: one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print data (`json`, `yaml`), or a table with every detail (`wide`)
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "show_all"])]
    pub(crate) format: Option<StatusFormat>,
    /// Fetch every expected result of a run in a cluster, even if the annotation holds only a
    /// summary (not with `--local`)
    #[arg(long, conflicts_with = "local")]
    pub(crate) full: bool,
    /// Follow a run in a cluster until it finishes (not with `--local`): a live view on a terminal,
    /// otherwise one line per event
    #[arg(short, long, conflicts_with = "local")]
    pub(crate) watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// One line per expected result, with heartbeats and what each waits for
    Wide,
}

/// Shows the status of a run in a cluster, or of a run of this user on this machine.
pub(crate) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    if args.local { local::status(args, global) } else { cluster::status(args, global) }
}

/// Prints the closing sentence and notes. `fetched`: the caller downloads the archive next.
pub(super) fn closing(seen: &Seen, now: Timestamp, fetched: bool, out: &mut impl Write) -> io::Result<()> {
    let program = Name::current().program();
    writeln!(out, "\n{}", if fetched { how(seen, program) } else { sentence(seen, program) })?;
    for note in notes(seen, now) {
        writeln!(out, "{note}")?;
    }
    Ok(())
}

/// Prints the summary of a finished run. `fetched`: the caller downloads the archive next.
pub(crate) fn print_end(seen: &Seen, fetched: bool) -> Result<(), AppError> {
    print("failed to print the outcome", |out| {
        write!(out, "{}", table::summary(&seen.status))?;
        closing(seen, Timestamp::now(), fetched, out)
    })?;
    Ok(())
}

pub(crate) fn code_of_run(seen: &Seen, global: &Global) -> ExitCode {
    let failed = seen.status.status == RunPhase::Failed;
    match global.exit_code {
        ExitCodes::Compat if failed => ExitCode::FAILURE,
        ExitCodes::Compat => ExitCode::SUCCESS,
        ExitCodes::Strict if seen.is_over() => verdict_code(Verdict::from_run(&seen.status)),
        ExitCodes::Strict if seen.silent_for(Timestamp::now()).is_some() => verdict_code(Verdict::SystemFailure),
        // An unfinished run has no verdict yet. Showing it succeeded.
        ExitCodes::Strict => ExitCode::SUCCESS,
    }
}

/// Sonobuoy's exit code for all errors.
const COMPAT_FAILURE: u8 = 1;

pub(crate) fn told(error: &StatusError) -> AppError {
    let told = match error {
        // Nothing was found, most likely because of a wrong namespace.
        StatusError::NoNamespace { .. } | StatusError::NoPod { .. } => AppError::usage(error.to_string()),
        StatusError::Cluster(error) => {
            // Without the failed action, which the summary has.
            AppError::system(format!("the cluster cannot be asked: failed to {}", error.what))
                .cause(error.cause.clone())
        }
        _ => AppError::system(error.to_string()),
    };
    told.hint_if(error.hint())
}

/// Reports why there is no status, and returns the exit code. A run that is about to start is not
/// an error.
pub(crate) fn explain(error: &StatusError, global: &Global) -> Result<ExitCode, AppError> {
    let begins = match error {
        StatusError::Pending { waiting, .. } => !waiting.as_ref().is_some_and(|waiting| waiting.is_image_trouble()),
        StatusError::NoAnnotation { .. } => true,
        _ => false,
    };
    let code = if begins {
        let hint = error.hint().and_then(|hint| fitting(&hint));
        let hint = hint.map(|hint| format!("\nhint:  {}", text::one_line(&hint))).unwrap_or_default();
        print("failed to print the status", |out| writeln!(out, "{}{hint}", text::one_line(&error.to_string())))?
    } else {
        told(error).print()
    };
    if let StatusError::Pending { events, .. } = error {
        for event in events {
            say(&format!("event: {}", one_line(event)));
        }
    }
    Ok(match global.exit_code {
        ExitCodes::Compat if !begins => ExitCode::from(COMPAT_FAILURE),
        _ => code,
    })
}
