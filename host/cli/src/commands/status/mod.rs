//! `plumbline status`: the status of a run for people, or as data whose keys are never removed or
//! renamed (docs/output.md).

mod local;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report::status::period;
use plumbline_app::report::{print_json, print_json_line, print_yaml, run_document, status_table};
use plumbline_app::runtime::runtime;
use plumbline_core::run_status::RunStatus;
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Seen, full, read};

use crate::args::global::Global;
use crate::args::shared::{EXIT_CODES, WaitOutput};
use crate::commands::cluster::{ClusterArgs, connect};
use crate::commands::wait::{closing, code_of_run, explain, until_over};
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
