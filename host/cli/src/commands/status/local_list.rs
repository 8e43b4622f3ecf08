//! The list of local runs.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use jiff::Timestamp;
use plumbline_core::Verdict;
use plumbline_core::run_status::RunPhase;

use super::local::{Seen, look};
use crate::registry::Entry;
use crate::ui::period;

/// Prints the runs, the newest first, and how to continue an unfinished one.
pub(super) fn list(runs: &[Entry], now: Timestamp, out: &mut impl Write) -> io::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["RUN", "STARTED", "STATE", "VERDICT", "ARCHIVE OR WORKING DIRECTORY"]);
    let mut unfinished = None;
    for run in runs {
        let (state, verdict) = state(run);
        if run.is_unfinished() && state != RUNNING {
            unfinished.get_or_insert(run);
        }
        table.add_row([
            run.run.short(),
            format!("{} ago", period(now.duration_since(run.started))),
            state.to_owned(),
            verdict.map(|verdict| verdict.to_string()).unwrap_or_default(),
            place(run),
        ]);
    }
    writeln!(out, "\nother runs:\n{table}")?;
    if let Some(run) = unfinished {
        writeln!(out, "\ncontinue an unfinished run with: plumbline run --local --continue {}", run.run.short())?;
    }
    Ok(())
}

/// The state of a run that a process works on.
const RUNNING: &str = "running";

fn state(run: &Entry) -> (&'static str, Option<Verdict>) {
    match look(run) {
        Err(_) => ("gone", None),
        Ok(Seen { lost: true, .. }) => ("interrupted", None),
        Ok(Seen { status, .. }) => match status.status {
            RunPhase::Failed if run.is_unfinished() => ("failed", None),
            RunPhase::Complete | RunPhase::Failed => ("finished", Some(Verdict::from_run(&status))),
            _ => (RUNNING, None),
        },
    }
}

fn place(run: &Entry) -> String {
    let path = run.archive.as_ref().unwrap_or(&run.work);
    let removed = if path.exists() { "" } else { " (removed)" };
    format!("{}{removed}", path.display())
}
