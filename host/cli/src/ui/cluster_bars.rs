//! A run in a cluster on a terminal: one bar per plugin, redrawn.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::{SignedDuration, Timestamp};
use plumbline_kubernetes::status::Seen;
use tokio::time::Instant;

use super::cluster::Show;
use super::cluster_plugins::{Plugin, failed_tests, period, plugins};
use super::cluster_rate::Rate;
use super::stalled::logs_command;
use super::withdrawn::Withdrawals;
use super::{bars, say};

/// Bars at once; of the rest it is said how many there are.
const MAX_BARS: usize = 24;
/// Between the parts of a line.
const GAP: &str = "   ";

/// A sign of life with a count.
#[derive(Default)]
pub(super) struct Spinner(Option<ProgressBar>);

impl Show for Spinner {
    fn show(&mut self, seen: &Seen, now: Timestamp) {
        let all = plugins(seen, now);
        let settled: u64 = all.iter().map(Plugin::settled).sum();
        let expected: u64 = all.iter().map(|plugin| plugin.expected).sum();
        self.0.get_or_insert_with(spinner).set_message(format!("{settled} of {expected} results"));
    }

    fn end(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// One bar per plugin, and the tests that failed.
#[derive(Default)]
pub(super) struct Bars {
    bars: BTreeMap<String, (ProgressBar, Rate)>,
    failed: Option<ProgressBar>,
    more: Option<ProgressBar>,
    withdrawn: Withdrawals,
}

impl Show for Bars {
    fn show(&mut self, seen: &Seen, now: Timestamp) {
        self.withdrawn.lines(&seen.status).iter().for_each(|line| say(line));
        let all = plugins(seen, now);
        // What still runs comes first: that is what one waits for.
        let (open, done): (Vec<_>, Vec<_>) = all.iter().partition(|plugin| plugin.result.is_none());
        let shown: Vec<_> = open.into_iter().chain(done).take(MAX_BARS).collect();
        self.bars.retain(|name, (bar, _)| {
            let keep = shown.iter().any(|plugin| plugin.name == *name);
            if !keep {
                bar.finish_and_clear();
            }
            keep
        });
        for plugin in &shown {
            let (bar, rate) = self.bars.entry(plugin.name.clone()).or_insert_with(|| {
                let bar = spinner();
                bar.set_style(style("{spinner} {prefix:20} {bar:25} {msg}"));
                bar.set_prefix(plugin.name.clone());
                (bar, Rate::default())
            });
            let (position, length) = plugin.position();
            rate.add(position, Instant::now());
            bar.set_length(length);
            bar.set_position(position);
            bar.set_message(message(plugin, &seen.namespace, rate, now));
        }
        if all.len() > shown.len() {
            self.more.get_or_insert_with(spinner).set_message(format!("and {} more", all.len() - shown.len()));
        }
        let (names, more) = failed_tests(seen);
        if !names.is_empty() {
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            let text = format!("failed so far: {}{more}", names.join("\n               "));
            self.failed
                .get_or_insert_with(|| bars().add(ProgressBar::new_spinner().with_style(style("  {msg}"))))
                .set_message(text);
        }
    }

    fn end(&mut self) {
        for bar in self.bars.values().map(|(bar, _)| bar).chain(&self.failed).chain(&self.more) {
            bar.finish_and_clear();
        }
    }
}

/// What stands behind the bar of a plugin.
fn message(plugin: &Plugin<'_>, namespace: &str, rate: &Rate, now: Timestamp) -> String {
    let (position, length) = plugin.position();
    let mut parts = vec![format!("{position}/{length}")];
    if let Some(result) = &plugin.result {
        parts.push(result.clone());
        return parts.join(GAP);
    }
    if let Some(tests) = plugin.tests {
        parts.push(format!("{} passed", tests.passed));
        parts.push(format!("{} failed", tests.failed));
    }
    if plugin.missing > 0 {
        parts.push(format!("{} will not come", plugin.missing));
    }
    if let (Some(speed), true) = (rate.per_minute(), position < length) {
        parts.push(format!("{speed:.1}/min"));
    }
    if let Some(left) = rate.left(length.saturating_sub(position)).filter(|_| position < length) {
        parts.push(format!("ETA {}", period(SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX))));
    }
    match plugin.waiting.first() {
        Some(first) => {
            let node = first.node.as_deref().map(|node| format!(" for node {node}")).unwrap_or_default();
            let since = first.since.map(|at| format!(" ({})", period(now.duration_since(at)))).unwrap_or_default();
            let words: String = first.words().chars().take(80).collect();
            parts.push(format!("waiting{node}: {words}{since}"));
            if plugin.waiting.len() > 1 {
                parts.push(format!("and {} more", plugin.waiting.len() - 1));
            }
        }
        None if !plugin.heard && plugin.settled() == 0 => parts.push("starting".to_owned()),
        None => {}
    }
    if let Some(still) = plugin.stalled {
        parts.push(format!("no progress for {}: {}", period(still), logs_command(&plugin.name, namespace)));
    } else if !plugin.message.is_empty() {
        parts.push(plugin.message.chars().take(60).collect());
    }
    parts.join(GAP)
}

fn spinner() -> ProgressBar {
    let bar = bars().add(ProgressBar::new_spinner());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

#[cfg(test)]
mod tests {
    use super::super::cluster_plugins::tests::{now, pulling, seen};
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_says_how_far_it_is_and_what_it_waits_for() {
        let mut seen = seen(json!([
            {"plugin": "e2e", "node": "global", "status": "running", "last-heartbeat": "2026-11-20T12:59:00Z",
             "progress": {"timestamp": "2026-11-20T12:59:00Z", "total": 404, "completed": 201, "failures": ["a", "b"]}},
            {"plugin": "logs", "node": "11 nodes", "status": "complete", "folded": 11},
            {"plugin": "logs", "node": "worker-7", "status": "running"},
            {"plugin": "done", "node": "global", "status": "complete", "result-status": "passed"},
            {"plugin": "new", "node": "global", "status": "running"},
            {"plugin": "still", "node": "global", "status": "running", "last-heartbeat": "2026-11-20T12:59:00Z",
             "progress": {"timestamp": "2026-11-20T12:37:00Z", "total": 9, "completed": 1, "msg": "on it"}},
        ]));
        seen.waiting = vec![pulling("worker-7")];
        let all = plugins(&seen, now());
        let mut rate = Rate::default();
        let start = Instant::now();
        rate.add(3, start);
        rate.add(203, start + Duration::from_secs(600));
        let idle = Rate::default();
        let lines: Vec<String> =
            all.iter().map(|p| message(p, "checks", if p.name == "e2e" { &rate } else { &idle }, now())).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        203/404   201 passed   2 failed   20.0/min   ETA 10 min
        11/12   waiting for node worker-7: image `r/i:1` cannot be pulled (ImagePullBackOff) (40 s)
        1/1   passed
        0/1   starting
        1/9   1 passed   0 failed   no progress for 23 min: plumbline logs --plugin still -n checks
        ");
    }
}
