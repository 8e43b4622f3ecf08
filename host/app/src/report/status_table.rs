//! The status of a run in a cluster as tables, byte for byte as scripts expect them: right-aligned
//! columns with three spaces before each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use plumbline_core::run_status::{PluginStatus, RunStatus};
use plumbline_core::{ProgressUpdate, Status};
use plumbline_kubernetes::status::Waiting;

use crate::report::status::{is_of, period};
use crate::report::text::one_line;

/// Spaces before each column.
const GAP: usize = 3;

/// Returns a table with one row per plugin, status and result.
pub fn summary(status: &RunStatus) -> String {
    let entries = status.plugins.as_deref().unwrap_or_default();
    let mut counts = BTreeMap::<&str, u64>::new();
    let mut groups = BTreeMap::<(&str, &str, &str), (u64, &PluginStatus)>::new();
    for entry in entries {
        // A status from another program may contain any number.
        let add = |to: &mut u64| *to = to.saturating_add(entry.count());
        add(counts.entry(&entry.plugin).or_default());
        let key = (entry.plugin.as_str(), entry.status.as_str(), result(entry));
        add(&mut groups.entry(key).or_insert((0, entry)).0);
    }
    let mut rows = vec![row(["PLUGIN", "STATUS", "RESULT", "COUNT", "PROGRESS"])];
    for ((plugin, status, result), (count, entry)) in groups {
        // With several results, the progress could belong to any of them.
        let progress = if counts.get(plugin) == Some(&1) { progress(entry) } else { String::new() };
        rows.push(row([plugin, status, result, &count.to_string(), &progress]));
    }
    aligned(&rows)
}

/// Returns a table with one row per expected result, in the order of the plan.
pub fn all(status: &RunStatus) -> String {
    let mut rows = vec![row(["PLUGIN", "NODE", "STATUS", "RESULT", "PROGRESS"])];
    for entry in status.plugins.iter().flatten() {
        rows.push(row([&entry.plugin, &entry.node, entry.status.as_str(), result(entry), &progress(entry)]));
    }
    aligned(&rows)
}

/// Returns the table of [`all`] with heartbeats, and with the reason why a pod waits or a result is
/// missing.
pub fn wide(status: &RunStatus, waiting: &[Waiting], now: Timestamp) -> String {
    let mut rows = vec![row(["PLUGIN", "NODE", "STATUS", "RESULT", "HEARTBEAT", "PROGRESS", "REASON"])];
    for entry in status.plugins.iter().flatten() {
        let heartbeat = entry.last_heartbeat.map(|at| format!("{} ago", period(now.duration_since(at))));
        let waits = waiting.iter().find(|waiting| is_of(waiting, entry)).map(Waiting::words);
        rows.push(row([
            &entry.plugin,
            &entry.node,
            entry.status.as_str(),
            result(entry),
            &heartbeat.unwrap_or_default(),
            &progress(entry),
            &waits.or_else(|| entry.reason.clone()).unwrap_or_default(),
        ]));
    }
    aligned(&rows)
}

fn result(entry: &PluginStatus) -> &str {
    entry.result_status.as_ref().map(Status::as_str).unwrap_or_default()
}

fn progress(entry: &PluginStatus) -> String {
    entry.progress.as_deref().map(counts).unwrap_or_default()
}

fn counts(progress: &ProgressUpdate) -> String {
    let mut text = format!("Passed:{:3}, Failed:{:3}", progress.completed, progress.failed());
    if let Some(remaining) = progress.remaining() {
        // Cannot fail: writing to a String.
        let _ = write!(text, ", Remaining:{remaining:3}");
    }
    text
}

/// Returns the cells, made safe for a terminal because they are foreign text.
fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    cells.into_iter().map(|cell| if cell.is_empty() { String::new() } else { one_line(cell) }).collect()
}

/// Aligns the columns to the right. Leading spaces of a cell count toward its width.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default() + GAP
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            // Cannot fail: writing to a String.
            let _ = write!(text, "{cell:>width$}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status() -> RunStatus {
        serde_json::from_value(json!({"status": "running", "plugins": [
            {"plugin": "systemd_logs", "node": "n1", "status": "running", "last-heartbeat": "2026-11-20T12:59:50Z"},
            {"plugin": "systemd_logs", "node": "n2", "status": "complete", "result-status": "failed"},
            {"plugin": "systemd_logs", "node": "n3\u{1b}[2J", "status": "running"},
            {"plugin": "e2e", "node": "global", "status": "complete", "result-status": "failed",
             "progress": {"total": 2, "completed": 1, "failures": ["x"]}},
            {"plugin": "bench", "node": "4711 nodes", "status": "complete", "result-status": "passed", "folded": 4711},
            {"plugin": "odd", "node": "global", "status": "running", "progress": {"completed": 5}},
        ]}))
        .unwrap()
    }

    #[test]
    fn the_summary_is_as_scripts_know_it() {
        insta::assert_snapshot!(summary(&status()));
        insta::assert_snapshot!("summary_of_nothing", summary(&RunStatus::default()));
    }

    #[test]
    fn impossible_numbers_saturate() {
        let entry = |node: &str| json!({"plugin": "p", "node": node, "status": "running", "folded": u64::MAX});
        let status = serde_json::from_value(json!({"status": "running", "plugins": [entry("a"), entry("b")]})).unwrap();
        assert!(summary(&status).contains(&u64::MAX.to_string()));
    }

    #[test]
    fn all_results_stand_in_the_order_of_the_plan() {
        insta::assert_snapshot!(all(&status()));
    }

    #[test]
    fn wide_tells_heartbeats_and_waiting_pods() {
        let waiting = Waiting {
            pod: "p".to_owned(),
            plugin: Some("systemd_logs".to_owned()),
            node: Some("n1".to_owned()),
            reason: "ErrImagePull".to_owned(),
            message: "not found".to_owned(),
            image: Some("r/i:1".to_owned()),
            since: None,
        };
        insta::assert_snapshot!(wide(&status(), &[waiting], "2026-11-20T13:00:00Z".parse().unwrap()));
    }
}
