//! Status of a run in a cluster: for people, or as data whose keys are never removed or renamed
//! (docs/output.md).

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::AppError;
use plumbline_app::earlier::EarlierRun;
use plumbline_app::report;
use plumbline_app::runtime::runtime;
use plumbline_core::run_status::RunStatus;
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Seen, full, read};

use crate::args::global::Global;
use crate::args::shared::WaitOutput;
use crate::commands::cluster::connect;
use crate::commands::status::args::{StatusArgs, StatusFormat};
use crate::commands::status::document::{ago, one_line_of_json, run_document};
use crate::commands::status::ended::{closing, code_of_run, explain};
use crate::commands::status::table;
use crate::commands::wait::until_over;
use crate::output::{Out, print};
use crate::ui::say;

pub(super) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
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

/// Returns the full status, if it belongs to this run.
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
    let table = if args.show_all { table::all(&last.status) } else { table::summary(&last.status) };
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
            return report::print_json(&run_document(cluster.name(), seen, status, now), out);
        }
        (Some(StatusFormat::Yaml), ..) => {
            return report::print_yaml(&run_document(cluster.name(), seen, status, now), out);
        }
        (Some(StatusFormat::Wide), ..) => table::wide(status, &seen.waiting, now),
        (None, true, _) => table::all(status),
        (None, false, true) => return one_line_of_json(status, out),
        // With the full status requested, the summary would add nothing.
        (None, false, false) if args.full => table::all(status),
        (None, false, false) => table::summary(status),
    };
    write!(out, "{table}")?;
    closing(seen, now, false, out)
}
