//! Status of a run of this user on this machine.

use std::io::{self, Write};
use std::process::ExitCode;

use comfy_table::{Table, presets};
use jiff::Timestamp;
use plumbline_app::local_runs::{self, LocalRun, LocalStatus};
use plumbline_app::report::status::{failure, judged, period, skipped, stalled, unseen_results};
use plumbline_app::{AppError, report};
use plumbline_core::run_status::{PluginStatus, RunPhase};
use plumbline_core::{Status, Verdict, shell_path};

use crate::args::global::{ExitCodes, Global};
use crate::commands::status::{StatusArgs, StatusFormat, ago, one_line_of_json};
use crate::error::verdict_code;
use crate::output::print;

/// Maximum results listed per plugin; more are summed up.
const MAX_LISTED: usize = 20;

pub(super) fn status(args: &StatusArgs, global: &Global) -> Result<ExitCode, AppError> {
    let (entry, others) = local_runs::find(args.run.as_deref())?;
    let seen = local_runs::read_status(&entry)?;
    print("failed to print the status", |out| match (args.json, args.format) {
        (true, _) => one_line_of_json(&seen.status, out),
        (_, Some(StatusFormat::Json)) => report::print_json(&seen.status, out),
        (_, Some(StatusFormat::Yaml)) => report::print_yaml(&seen.status, out),
        (_, wide) => print_run(&entry, &seen, args.show_all || wide.is_some(), out)
            .and_then(|()| list(&others, Timestamp::now(), out)),
    })?;
    let over = matches!(seen.status.status, RunPhase::Complete | RunPhase::Failed);
    Ok(match (global.exit_code, over, seen.lost) {
        // An unfinished run has no verdict yet. Showing it succeeded.
        (ExitCodes::Compat, ..) | (_, false, false) => ExitCode::SUCCESS,
        (_, _, true) => verdict_code(Verdict::SystemFailure),
        (_, true, false) => verdict_code(Verdict::from_run(&seen.status)),
    })
}

fn print_run(entry: &LocalRun, seen: &LocalStatus, show_all: bool, out: &mut impl Write) -> io::Result<()> {
    let phase = if seen.lost { "interrupted: no process is running it" } else { seen.status.status.as_str() };
    writeln!(out, "run {} · {phase} · started {}", entry.run.short(), ago(entry.started))?;
    let entries = seen.status.plugins.as_deref().unwrap_or_default();
    if !entries.is_empty() {
        writeln!(out, "\n{}", table(entries, show_all))?;
    }
    for (plugin, why) in &seen.status.skipped {
        writeln!(out, "\n{}", skipped(plugin, why))?;
    }
    for line in standing_still(entry, seen, Timestamp::now()) {
        writeln!(out, "\n{line}")?;
    }
    let judged = judged(&seen.status);
    if !judged.is_empty() {
        writeln!(out, "\n{}", judged.join("\n"))?;
    }
    let unseen = unseen_results(&seen.status);
    if !unseen.is_empty() {
        writeln!(out, "\n{}", unseen.join("\n"))?;
    }
    let failure = failure(&seen.status);
    if !failure.is_empty() {
        writeln!(out, "\n{}", failure.join("\n"))?;
    }
    if let (true, Some(at)) = (seen.lost, seen.at) {
        writeln!(
            out,
            "\nlast heartbeat {}\ncontinue it with: plumbline run --local --continue {}\nworking directory: {}",
            ago(at),
            entry.run.short(),
            shell_path(&entry.work)
        )?;
    }
    if let Some(archive) = &entry.archive {
        let gone = if archive.exists() { "" } else { " (removed)" };
        writeln!(out, "\narchive: {}{gone}", archive.display())?;
    }
    Ok(())
}

/// Describes stalled results, and where their output is.
fn standing_still(entry: &LocalRun, seen: &LocalStatus, now: Timestamp) -> Vec<String> {
    let awaited = seen.status.plugins.iter().flatten().filter(|_| !seen.lost);
    let still = awaited.filter_map(|result| Some((result, stalled(&seen.status, result, now)?)));
    still
        .take(MAX_LISTED)
        .map(|(result, still)| {
            let log = local_runs::log_file(&entry.work, &result.plugin, &result.node);
            format!(
                "{}: no progress for {}; its output: {}",
                report::text::one_line(&result.plugin),
                period(still),
                log.display()
            )
        })
        .collect()
}

fn new_table(header: [&str; 5]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table
}

fn table(entries: &[PluginStatus], show_all: bool) -> Table {
    let mut table = new_table(["PLUGIN", "NODE", "STATUS", "RESULT", "PROGRESS"]);
    for chunk in entries.chunk_by(|a, b| a.plugin == b.plugin) {
        if show_all || chunk.len() <= MAX_LISTED {
            for entry in chunk {
                let cells = [&entry.plugin, &entry.node, entry.status.as_str(), &result(entry), &progress(entry)];
                table.add_row(cells.map(report::text::one_line));
            }
        } else {
            for (status, result, n) in summed(chunk) {
                let plugin = chunk.first().map(|entry| entry.plugin.clone()).unwrap_or_default();
                let cells = [plugin, format!("{n} nodes"), status, result, String::new()];
                table.add_row(cells.map(|cell| report::text::one_line(&cell)));
            }
        }
    }
    table
}

fn summed(entries: &[PluginStatus]) -> Vec<(String, String, usize)> {
    let mut sums = std::collections::BTreeMap::<(String, String), usize>::new();
    for entry in entries {
        *sums.entry((entry.status.to_string(), result(entry))).or_default() += 1;
    }
    sums.into_iter().map(|((status, result), n)| (status, result, n)).collect()
}

fn result(entry: &PluginStatus) -> String {
    entry.result_status.as_ref().map(Status::brief).unwrap_or_default()
}

fn progress(entry: &PluginStatus) -> String {
    report::status::progress(entry).unwrap_or_default()
}

/// Prints the runs, the newest first, and how to continue an unfinished one.
pub(super) fn list(runs: &[LocalRun], now: Timestamp, out: &mut impl Write) -> io::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut table = new_table(["RUN", "STARTED", "STATE", "VERDICT", "ARCHIVE OR WORKING DIRECTORY"]);
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

/// State of a run that has a running process.
const RUNNING: &str = "running";

fn state(run: &LocalRun) -> (&'static str, Option<Verdict>) {
    match local_runs::read_status(run) {
        Err(_) => ("gone", None),
        Ok(LocalStatus { lost: true, .. }) => ("interrupted", None),
        Ok(LocalStatus { status, .. }) => match status.status {
            RunPhase::Failed if run.is_unfinished() => ("failed", None),
            RunPhase::Complete | RunPhase::Failed => ("finished", Some(Verdict::from_run(&status))),
            _ => (RUNNING, None),
        },
    }
}

fn place(run: &LocalRun) -> String {
    let path = run.archive.as_ref().unwrap_or(&run.work);
    let removed = if path.exists() { "" } else { " (removed)" };
    format!("{}{removed}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_does_not_steer_the_terminal() {
        let evil = "\u{1b}[2J\u{9b}31m\u{202e}\r\n\u{7}x";
        let entry: PluginStatus = serde_json::from_value(serde_json::json!({
            "plugin": evil, "node": evil, "status": evil, "result-status": evil,
            "progress": {"msg": evil, "total": 3, "completed": 1},
        }))
        .unwrap();
        for entries in [vec![entry.clone()], vec![entry; MAX_LISTED + 1]] {
            let text = table(&entries, false).to_string();
            let steers = |c: char| c != '\n' && plumbline_core::text::steers_terminal(c);
            assert!(text.lines().count() <= 3 && !text.contains(steers), "{text:?}");
        }
    }
}
