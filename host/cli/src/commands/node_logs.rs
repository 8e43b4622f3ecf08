//! `plumbline worker node-logs`

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_facts::node_logs::{CollectError, Options, Summary, WriteError, write_logs};

use super::in_root;
use crate::args::{Global, NodeLogsArgs};
use crate::error::PrintError as _;
use crate::logging;
use crate::ui::say;

/// File name that Sonobuoy's tools expect.
const FILE: &str = "systemd_logs";

/// Gathers the logs of this machine's journal. The logs also note what is missing, so that readers
/// of the results see it.
pub(crate) fn node_logs(args: &NodeLogsArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let ending = args.done.prepare()?;
    let output = args.output.as_deref().or(args.done.done.then_some(Path::new(FILE)));
    let output = output.map(|path| args.done.place(path));
    let summary = write_logs(&options(args), output.as_deref()).map_err(|error| match error {
        WriteError::Print(error) => AppError::printing("failed to print the logs", &error),
        error => AppError::system("the logs of this machine cannot be gathered").because(&error),
    })?;
    let failed = told(&summary, args.done.done);
    if let Some(error) = &failed {
        error.print();
    }
    ending.finish(output.as_deref())?;
    // The error was already printed, because the process may stay for hours.
    Ok(if failed.is_some() { ExitCode::from(crate::error::SYSTEM) } else { ExitCode::SUCCESS })
}

fn options(args: &NodeLogsArgs) -> Options {
    Options {
        root: args.root.clone(),
        since: Duration::from_secs(args.minutes.saturating_mul(60)),
        max_bytes: args.max_bytes,
        helper: in_root::helper(),
        ..Options::default()
    }
}

/// Prints warnings, and returns the error, if there is one. For a plugin, a machine without a
/// journal is not an error, because its result says so.
fn told(summary: &Summary, plugin: bool) -> Option<AppError> {
    for note in &summary.notes {
        say(&format!("warning: {note}"));
    }
    if summary.missing_lines > 0 {
        say(&format!("warning: the oldest {} lines are left out: raise `--max-bytes`", summary.missing_lines));
    }
    let error = summary.failure.as_ref()?;
    if plugin && matches!(error, CollectError::NoJournal { .. }) {
        say(&format!("warning: {error}"));
        return None;
    }
    Some(AppError::system("the logs of this machine are missing, or not complete").because(error))
}
