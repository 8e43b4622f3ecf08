//! What changed between two looks at a run in a cluster, one line per event.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use plumbline_kubernetes::status::Seen;

use super::cluster::Show;
use super::cluster_plugins::{Plugin, failed_tests, period, plugins};
use super::say;
use super::stalled::logs_command;
use super::withdrawn::Withdrawals;
use crate::output::one_line;

/// Lines about nodes of one plugin are told when this part of them, a twentieth, is in: 5,000 nodes are 20 lines.
const STEPS: u64 = 20;
/// Waiting pods of one plugin that are told; of more it is only said that there are.
const MAX_WAITING: usize = 10;

/// Tells what is new in each look.
#[derive(Default)]
pub(super) struct Teller {
    plugins: BTreeMap<String, Told>,
    waiting: BTreeSet<(String, String)>,
    withdrawn: Withdrawals,
    phase: String,
}

#[derive(Default)]
struct Told {
    heard: bool,
    tests: Option<(u64, u64)>,
    step: u64,
    missing: u64,
    result: Option<String>,
    stalled: bool,
    waiting: usize,
}

impl Show for Teller {
    fn show(&mut self, seen: &Seen, now: Timestamp) {
        for line in self.lines(seen, now) {
            say(&line);
        }
    }
}

impl Teller {
    /// The lines for what is new in `seen`.
    fn lines(&mut self, seen: &Seen, now: Timestamp) -> Vec<String> {
        let mut lines = self.withdrawn.lines(&seen.status);
        for plugin in plugins(seen, now) {
            let told = self.plugins.entry(plugin.name.clone()).or_default();
            about(&plugin, told, seen, &mut lines);
            for waiting in &plugin.waiting {
                // The first look at a starting pod is no news: only what lasts is told.
                let lasts = waiting.since.is_none_or(|at| now.duration_since(at).as_secs() >= 20);
                let key = (waiting.pod.clone(), waiting.reason.clone());
                if (waiting.is_starting() && !lasts) || !self.waiting.insert(key) {
                    continue;
                }
                told.waiting += 1;
                if told.waiting == MAX_WAITING + 1 {
                    lines.push(format!("{}: more pods wait", plugin.name));
                } else if told.waiting <= MAX_WAITING {
                    let node = waiting.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
                    lines.push(format!("{}{node}: waiting: {}", plugin.name, one_line(&waiting.words())));
                }
            }
        }
        let phase = one_line(seen.status.status.as_str());
        if phase != self.phase && !self.phase.is_empty() {
            lines.push(format!("the run is {phase}"));
        }
        self.phase = phase;
        lines
    }
}

fn about(plugin: &Plugin<'_>, told: &mut Told, seen: &Seen, lines: &mut Vec<String>) {
    let name = &plugin.name;
    if plugin.heard && !told.heard {
        told.heard = true;
        lines.push(format!("{name}: running"));
    }
    if let Some(tests) = plugin.tests {
        let now = (tests.passed, tests.failed);
        if told.tests.is_none_or(|before| before != now) {
            let total = if tests.total > 0 { format!("{}/{}   ", tests.done(), tests.total) } else { String::new() };
            let mut line = format!("{name}: {total}{} passed or skipped   {} failed", tests.passed, tests.failed);
            let newly = told.tests.map_or(0, |(_, before)| tests.failed.saturating_sub(before));
            if let (true, Some(test)) = (newly > 0 && plugin.is_global, failed_tests(seen).0.into_iter().next()) {
                line.push_str("   ");
                line.push_str(&test);
            }
            lines.push(line);
            told.tests = Some(now);
        }
    }
    // Of one result it is enough to say how it ended; of many, how many are in.
    let step = plugin.settled() * STEPS / plugin.expected.max(1);
    let all = plugin.settled() == plugin.expected;
    if plugin.expected > 1 && (step > told.step || plugin.missing > told.missing) {
        let missing = if plugin.missing > 0 { format!(", {} will not come", plugin.missing) } else { String::new() };
        lines.push(format!("{name}: {} of {} results{missing}", plugin.received, plugin.expected));
    } else if plugin.expected == 1 && all && step > told.step {
        lines.push(format!("{name}: {}", if plugin.missing > 0 { "no result" } else { "result received" }));
    }
    told.step = told.step.max(step);
    told.missing = plugin.missing;
    if let (Some(still), false) = (plugin.stalled, told.stalled) {
        let logs = logs_command(name, &seen.namespace);
        lines.push(format!("{name}: no progress for {}: see what it does with `{logs}`", period(still)));
    }
    told.stalled = plugin.stalled.is_some();
    if plugin.result != told.result {
        if let Some(result) = &plugin.result {
            lines.push(format!("{name}: {result}"));
        }
        told.result = plugin.result.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::super::cluster_plugins::tests::{now, pulling, seen};
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn each_event_is_told_once() {
        let e2e = |status: &str, failures: Value, result: &str| {
            json!({"plugin": "e2e", "node": "global", "status": status, "result-status": result, "last-heartbeat": "2026-11-20T12:59:00Z",
                "progress": {"timestamp": "2026-11-20T12:59:00Z", "total": 404, "completed": 201, "failures": failures}})
        };
        let logs = |n: u32, status: &str| json!({"plugin": "logs", "node": format!("n{n}"), "status": status});
        let mut looks = vec![
            seen(
                json!([{"plugin": "e2e", "node": "global", "status": "running"}, logs(1, "running"), logs(2, "running")]),
            ),
            seen(json!([e2e("running", json!([]), ""), logs(1, "running"), logs(2, "running")])),
            seen(json!([e2e("running", json!(["a test"]), ""), logs(1, "complete"), logs(2, "running")])),
            seen(json!([e2e("running", json!(["a test"]), ""), logs(1, "complete"), logs(2, "failed")])),
            seen(json!([e2e("complete", json!(["a test"]), "failed"), logs(1, "complete"), logs(2, "failed")])),
        ];
        looks[2].waiting = vec![pulling("n2")];
        looks[3].waiting = vec![pulling("n2")];
        looks[4].status.status = "post-processing".to_owned().into();
        let mut teller = Teller::default();
        let mut text = String::new();
        for look in &looks {
            let lines = teller.lines(look, now());
            assert!(teller.lines(look, now()).is_empty(), "nothing is told twice");
            text.push_str(&format!("{}\n--\n", lines.join("\n")));
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn standing_still_and_withdrawals_are_told_once() {
        let mut teller = Teller::default();
        let mut look = seen(json!([{"plugin": "e2e", "node": "global", "status": "running"}]));
        look.status.launched = [("e2e".to_owned(), "2026-11-20T12:48:00Z".parse().unwrap())].into();
        look.status.withdrawn = [("e2e-retry-1".to_owned(), "no test failed in `e2e`".to_owned())].into();
        insta::assert_snapshot!(teller.lines(&look, now()).join("\n"), @r"
        e2e-retry-1: withdrawn: no test failed in `e2e`
        e2e: no progress for 12 min: see what it does with `plumbline logs --plugin e2e`
        ");
        assert!(teller.lines(&look, now()).is_empty());
    }

    #[test]
    fn five_thousand_nodes_are_few_lines() {
        let mut teller = Teller::default();
        let mut lines = 0;
        for done in 0..=5000 {
            let look = seen(json!([
                {"plugin": "logs", "node": "x nodes", "status": "complete", "folded": done},
                {"plugin": "logs", "node": "y nodes", "status": "running", "folded": 5000 - done},
            ]));
            lines += teller.lines(&look, now()).len();
        }
        assert_eq!(lines, 20);
        let mut look = seen(json!([{"plugin": "logs", "node": "y nodes", "status": "running", "folded": 5000}]));
        look.waiting = (0..300).map(|n| pulling(&format!("n{n}"))).collect();
        assert_eq!(teller.lines(&look, now()).len(), MAX_WAITING + 1);
    }
}
