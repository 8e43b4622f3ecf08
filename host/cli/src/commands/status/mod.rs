//! `plumbline status`: the status of a run for people, or as data whose keys are never removed or
//! renamed (docs/output.md), and how commands report the end of a run in a cluster.

mod local;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report::status::{how, notes, period, sentence};
use plumbline_app::report::text::one_line;
use plumbline_app::report::{print_json, print_json_line, print_yaml, run_document, status_table};
use plumbline_app::runtime::runtime;
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_core::{Verdict, text};
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Seen, StatusError, full, read};

use crate::args::global::{ExitCodes, Global};
use crate::args::name::Name;
use crate::args::shared::{EXIT_CODES, WaitOutput};
use crate::commands::cluster::{ClusterArgs, connect};
use crate::commands::wait::until_over;
use crate::error::{PrintError as _, fitting, verdict_code};
use crate::output::{Out, print};
use crate::ui::say;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Show a run on this machine instead of one in a cluster
    #[arg(long, conflicts_with_all = ["namespace", "kubeconfig", "context"])]
    pub(crate) local: bool,
    /// ID of the local run, or its first characters [default: the newest run]
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
    if args.local { local::status(args, global) } else { in_cluster(args, global) }
}

fn in_cluster(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await?;
        let namespace = &args.cluster.namespace;
        if args.watch {
            let ended = until_over(&cluster, namespace, WaitOutput::Progress, EarlierRun::new(), None, global).await?;
            let seen = match ended {
                Ok(seen) => seen,
                Err(code) => return Ok(code),
            };
            return show(&cluster, &seen, args, global).await;
        }
        match read(&cluster, namespace).await {
            Ok(seen) => show(&cluster, &seen, args, global).await,
            Err(error) => {
                if let Some(last) = error.last() {
                    print("failed to print the status", |out| print_last(&cluster, last, args, out))?;
                }
                explain(&error, global)
            }
        }
    })
}

async fn show(cluster: &Cluster, seen: &Seen, args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    let wants_all = args.full || args.show_all || args.format == Some(StatusFormat::Wide);
    let all = if wants_all && seen.is_compacted() { in_full(cluster, seen).await } else { None };
    let status = all.as_ref().unwrap_or(&seen.status);
    print("failed to print the status", |out| print_status(cluster, seen, status, args, out))?;
    Ok(code_of_run(seen, global))
}

async fn in_full(cluster: &Cluster, seen: &Seen) -> Option<RunStatus> {
    match full(cluster, &seen.namespace).await {
        Ok(Some(all)) if all.run == seen.status.run => {
            if !seen.is_over()
                && let Some(at) = all.heartbeat
            {
                say(&format!("every result as of {}", ago(at)));
            }
            Some(all)
        }
        Ok(_) => {
            say("warning: the full status is not available yet: this is the summary");
            None
        }
        Err(error) => {
            say(&format!("warning: {error}: this is the summary"));
            None
        }
    }
}

/// Prints the last status of a missing aggregator, without the summary sentence, which is out of
/// date.
fn print_last(cluster: &Cluster, last: &Seen, args: &StatusArgs, out: &mut Out) -> io::Result<()> {
    if args.json || args.format.is_some() {
        return print_status(cluster, last, &last.status, args, out);
    }
    say("last known status:");
    let table = if args.show_all { status_table::all(&last.status) } else { status_table::summary(&last.status) };
    write!(out, "{table}")
}

fn print_status(
    cluster: &Cluster,
    seen: &Seen,
    status: &RunStatus,
    args: &StatusArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let now = Timestamp::now();
    let table = match (args.format, args.show_all, args.json) {
        (Some(StatusFormat::Json), ..) => {
            return print_json(&run_document(cluster.name(), seen, status, now), out);
        }
        (Some(StatusFormat::Yaml), ..) => {
            return print_yaml(&run_document(cluster.name(), seen, status, now), out);
        }
        (Some(StatusFormat::Wide), ..) => status_table::wide(status, &seen.waiting, now),
        (None, true, _) => status_table::all(status),
        (None, false, true) => return one_line_of_json(status, out),
        // With the full status requested, the summary would add nothing.
        (None, false, false) if args.full => status_table::all(status),
        (None, false, false) => status_table::summary(status),
    };
    write!(out, "{table}")?;
    closing(seen, now, false, out)
}

/// Prints the aggregator's status, without fields that only Plumbline's views need.
fn one_line_of_json(status: &RunStatus, out: &mut impl Write) -> io::Result<()> {
    let mut status = status.clone();
    status.launched.clear();
    print_json_line(&status, out)
}

fn ago(at: Timestamp) -> String {
    format!("{} ago", period(Timestamp::now().duration_since(at)))
}

/// Prints the closing sentence and notes. `fetched`: the caller downloads the archive next.
fn closing(seen: &Seen, now: Timestamp, fetched: bool, out: &mut impl Write) -> io::Result<()> {
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
        write!(out, "{}", status_table::summary(&seen.status))?;
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

pub(crate) fn status_error(error: &StatusError) -> AppError {
    let app_error = match error {
        // Nothing was found, most likely because of a wrong namespace.
        StatusError::NoNamespace { .. } | StatusError::NoPod { .. } => AppError::usage(error.to_string()),
        StatusError::Cluster(error) => {
            // Without the failed action, which the summary has.
            AppError::system(format!("failed to query the cluster: failed to {}", error.what))
                .cause(error.cause.clone())
        }
        _ => AppError::system(error.to_string()),
    };
    app_error.hint_if(error.hint())
}

/// Reports why the status is missing, and returns the exit code. A run that is about to start is no
/// error.
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
        status_error(error).print()
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
