//! Status of a run in a cluster.

use std::io::{self, Write};
use std::process::ExitCode;

use jiff::Timestamp;
use plumbline_app::runtime::runtime;
use plumbline_app::{AppError, report};
use plumbline_core::run_status::RunStatus;
use plumbline_kubernetes::Cluster;
use plumbline_kubernetes::status::{Seen, full, read};

use super::document::{ago, document, one_line_of_json};
use super::end::{closing, code_of_run};
use super::{explain, table};
use crate::args::{Global, StatusArgs, StatusFormat, WaitOutput};
use crate::commands::remote::connect;
use crate::commands::wait::until_over;
use crate::ui::say;

/// Shows the status.
pub(super) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    runtime()?.block_on(async {
        let cluster = connect(&args.cluster).await.map_err(|error| AppError::cluster(&error))?;
        let namespace = &args.cluster.namespace;
        if args.watch {
            let ended = until_over(&cluster, namespace, WaitOutput::Progress, None, global).await?;
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
                    print_last(&cluster, last, args)
                        .map_err(|error| AppError::printing("failed to print the status", &error))?;
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
    let mut out = anstream::stdout().lock();
    print(cluster, seen, status, args, &mut out)
        .map_err(|error| AppError::printing("failed to print the status", &error))?;
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
            say("warning: the status in full is not there yet: this is the summary");
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
fn print_last(cluster: &Cluster, last: &Seen, args: &StatusArgs) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    if args.json || args.format.is_some() {
        return print(cluster, last, &last.status, args, &mut out);
    }
    say("what it wrote last:");
    let table = if args.show_all { table::all(&last.status) } else { table::summary(&last.status) };
    write!(out, "{table}")
}

fn print(
    cluster: &Cluster,
    seen: &Seen,
    status: &RunStatus,
    args: &StatusArgs,
    out: &mut impl Write,
) -> io::Result<()> {
    let now = Timestamp::now();
    let table = match (args.format, args.show_all, args.json) {
        (Some(StatusFormat::Json), ..) => return report::print_json(&document(cluster.name(), seen, status, now), out),
        (Some(StatusFormat::Yaml), ..) => return report::print_yaml(&document(cluster.name(), seen, status, now), out),
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
