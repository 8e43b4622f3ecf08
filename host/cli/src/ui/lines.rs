//! What changed between two looks at a run, one line per event.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use plumbline_core::judgement::VerdictSummary;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunStatus};

use super::cluster_plugins::period;
use super::stalled::stalled;
use super::withdrawn::Withdrawals;

/// Tells what is new in each look.
#[derive(Default)]
pub(super) struct Teller {
    seen: BTreeMap<(String, String), Seen>,
    withdrawn: Withdrawals,
    /// The working directory of the run.
    work: PathBuf,
    judged: BTreeMap<String, VerdictSummary>,
}

#[derive(Default, Clone, PartialEq)]
struct Seen {
    heard: bool,
    status: EntryStatus,
    judged: Option<String>,
    progress: Option<(i64, u64)>,
    stalled: bool,
}

impl Teller {
    /// Of a run in this working directory.
    pub(super) fn new(work: PathBuf) -> Self {
        Self { work, ..Self::default() }
    }

    /// The lines for what is new in `status` at `now`.
    pub(super) fn lines(&mut self, status: &RunStatus, at: Timestamp) -> Vec<String> {
        let mut lines = self.withdrawn.lines(status);
        for entry in status.plugins.iter().flatten() {
            let seen = self.seen.entry((entry.plugin.clone(), entry.node.clone())).or_default();
            let name = name(entry);
            let now = Seen {
                heard: entry.last_heartbeat.is_some(),
                status: entry.status.clone(),
                judged: entry.result_status.as_ref().map(ToString::to_string),
                progress: entry.progress.as_ref().map(|p| (p.completed, p.failed())),
                stalled: stalled(status, entry, at).is_some(),
            };
            if now.heard && !seen.heard {
                lines.push(format!("{name}: running"));
            }
            if now.progress != seen.progress
                && let Some(text) = progress(entry)
            {
                lines.push(format!("{name}: {text}"));
            }
            if let (Some(still), false) = (stalled(status, entry, at), seen.stalled) {
                let log = local_log(&self.work, &entry.plugin, &entry.node);
                lines.push(format!("{name}: no progress for {}; its output: {}", period(still), log.display()));
            }
            if now.status != seen.status {
                match now.status {
                    EntryStatus::Complete => lines.push(format!("{name}: result received")),
                    EntryStatus::Failed => lines.push(format!("{name}: no result")),
                    _ => {}
                }
            }
            if let Some(judged) = &now.judged
                && now.judged != seen.judged
            {
                lines.push(format!("{name}: {judged}"));
            }
            *seen = now;
        }
        for (plugin, verdict) in status.verdicts.iter().flatten() {
            if self.judged.get(plugin) != Some(verdict) {
                self.judged.insert(plugin.clone(), verdict.clone());
                lines.push(crate::output::name(&format!("{plugin}: judged {}", verdict.sentence())));
            }
        }
        lines
    }
}

/// Where a run in the working directory `work` keeps the output of its plugins.
pub(crate) fn local_logs(work: &Path) -> PathBuf {
    work.join("tree/podlogs/local")
}

/// The output of one of them, while the run goes on.
pub(crate) fn local_log(work: &Path, plugin: &str, node: &str) -> PathBuf {
    local_logs(work).join(plugin).join("logs").join(format!("{node}.txt"))
}

/// A plugin by its name; on a node, with the node's.
pub(super) fn name(entry: &PluginStatus) -> String {
    if entry.node == plumbline_core::GLOBAL {
        entry.plugin.clone()
    } else {
        format!("{} on {}", entry.plugin, entry.node)
    }
}

/// How far a plugin says it is.
pub(crate) fn progress(entry: &PluginStatus) -> Option<String> {
    let progress = entry.progress.as_ref()?;
    let failed = progress.failed();
    let mut text = format!("{} passed or skipped   {failed} failed", progress.completed);
    if progress.total > 0 {
        let done = progress.completed.saturating_add(i64::try_from(failed).unwrap_or(i64::MAX));
        text = format!("{done}/{}   {text}", progress.total);
    }
    if !progress.msg.is_empty() {
        text.push_str("   ");
        text.extend(progress.msg.chars().filter(|c| !c.is_control()).take(80));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(json: serde_json::Value) -> RunStatus {
        serde_json::from_value(serde_json::json!({"status": "running", "plugins": json})).unwrap()
    }

    #[test]
    fn each_event_is_told_once() {
        let mut teller = Teller::default();
        let waiting = status(serde_json::json!([{"plugin": "a", "node": "global", "status": "running"}]));
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        assert!(teller.lines(&waiting, now).is_empty());
        let running = status(serde_json::json!([
            {"plugin": "a", "node": "global", "status": "running", "last-heartbeat": "2026-01-01T00:00:00Z",
             "progress": {"total": 3, "completed": 1, "failures": ["x"], "msg": "on it"}}
        ]));
        assert_eq!(teller.lines(&running, now), ["a: running", "a: 2/3   1 passed or skipped   1 failed   on it"]);
        assert!(teller.lines(&running, now).is_empty());
        let done = status(serde_json::json!([
            {"plugin": "a", "node": "global", "status": "complete", "result-status": "failed", "last-heartbeat": "2026-01-01T00:00:00Z"}
        ]));
        assert_eq!(teller.lines(&done, now), ["a: result received", "a: failed"]);
    }

    #[test]
    fn what_does_not_get_on_is_told_with_where_its_output_is() {
        let mut status = status(serde_json::json!([{"plugin": "e2e", "node": "global", "status": "running"}]));
        status.launched = [("e2e".to_owned(), "2026-01-01T00:00:00Z".parse().unwrap())].into();
        let mut teller = Teller::new("/tmp/run".into());
        assert!(teller.lines(&status, "2026-01-01T00:09:00Z".parse().unwrap()).is_empty());
        let line = "e2e: no progress for 10 min; its output: /tmp/run/tree/podlogs/local/e2e/logs/global.txt";
        assert_eq!(teller.lines(&status, "2026-01-01T00:10:00Z".parse().unwrap()), [line]);
        assert!(teller.lines(&status, "2026-01-01T00:30:00Z".parse().unwrap()).is_empty());
    }

    #[test]
    fn nodes_are_named() {
        let failed = status(serde_json::json!([{"plugin": "a", "node": "n1", "status": "failed"}]));
        assert_eq!(Teller::default().lines(&failed, Timestamp::now()), ["a on n1: no result"]);
    }
}
