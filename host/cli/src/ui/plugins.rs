//! View of a run with one entry per plugin, independent of the number of nodes.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use plumbline_app::report::status::{logs_command, period, stalled};
use plumbline_app::report::text::one_line;
use plumbline_core::judgement::VerdictStatus;
use plumbline_core::progress::MAX_REASON;
use plumbline_core::rollup::meaning;
use plumbline_core::run_status::{EntryStatus, PluginStatus, PluginTotal, RunStatus};
use plumbline_core::text::excerpt;
use plumbline_core::{GLOBAL, ProgressUpdate, Status};
use plumbline_kubernetes::status::{Seen, Waiting};

use crate::ui::line::Tone;

/// The state of a run at one moment, in a cluster or on this machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunView<'a> {
    pub(super) status: &'a RunStatus,
    /// Pods of plugins that are not running.
    pub(super) waiting: &'a [Waiting],
    pub(super) started: Option<Timestamp>,
    pub(super) logs: Logs<'a>,
}

/// Where the output of plugins can be read while they run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Logs<'a> {
    /// From pods in this namespace.
    Cluster(&'a str),
    /// In the working directory of a run on this machine.
    Local(&'a Path),
}

impl Logs<'_> {
    /// Returns a hint how to see the output of a plugin.
    pub(super) fn hint(self, plugin: &str, node: &str) -> String {
        match self {
            Self::Cluster(namespace) => format!("see `{}`", logs_command(plugin, namespace)),
            Self::Local(work) => format!("see {}", plumbline_app::local_runs::log_file(work, plugin, node).display()),
        }
    }
}

impl<'a> RunView<'a> {
    pub(super) fn of_cluster(seen: &'a Seen) -> Self {
        Self { status: &seen.status, waiting: &seen.waiting, started: seen.began, logs: Logs::Cluster(&seen.namespace) }
    }

    /// Returns the plugins of the run, in the order of its plan. Those without expected results
    /// follow.
    pub(super) fn plugins(&self, now: Timestamp) -> Vec<Plugin<'a>> {
        let mut plugins: Vec<Plugin<'a>> = Vec::new();
        let mut places = BTreeMap::<&str, usize>::new();
        for entry in self.status.plugins.iter().flatten() {
            let place = *places.entry(&entry.plugin).or_insert_with(|| {
                plugins.push(Plugin::new(self, entry));
                plugins.len() - 1
            });
            if let Some(plugin) = plugins.get_mut(place) {
                plugin.add(self, entry, now);
            }
        }
        for (name, total) in &self.status.totals {
            let place = *places.entry(name).or_insert_with(|| {
                plugins.push(Plugin { name: one_line(name), ..Plugin::default() });
                plugins.len() - 1
            });
            if let Some(plugin) = plugins.get_mut(place) {
                plugin.add_total(total);
            }
        }
        for plugin in &mut plugins {
            plugin.settle(self);
        }
        plugins
    }
}

/// What a plugin is doing, or how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// Its pods, or plugins before it, keep it from running.
    Waiting,
    /// It was launched, but no worker has reported yet.
    Starting,
    #[default]
    Running,
    /// All its results were received, and are being post-processed.
    Reading,
    /// It ended, with this status.
    Ended(String),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Plugin<'a> {
    pub(super) name: String,
    pub(super) phase: Phase,
    /// Colour of its outcome; [`Tone::Plain`] until it ends.
    pub(super) tone: Tone,
    pub(super) expected: u64,
    pub(super) received: u64,
    pub(super) missing: u64,
    /// Progress of its tests, summed over all nodes.
    pub(super) tests: Option<Tests>,
    /// Number of items by status, once results were post-processed.
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) verdict: Option<String>,
    /// The last message of a plugin with one expected result.
    pub(super) message: String,
    /// How long its progress has not changed, and on which node.
    pub(super) stalled: Option<(SignedDuration, &'a str)>,
    pub(super) launched: Option<Timestamp>,
    pub(super) waiting: Vec<&'a Waiting>,
    pub(super) heard: bool,
    /// The worst result status, if every result so far has one.
    pub(super) result: Option<String>,
    /// Why the result of a plugin with one expected result is missing or late.
    pub(super) reason: Option<&'a str>,
    /// Number of expected results that something keeps from arriving.
    pub(super) troubled: u64,
    /// The first of these results, with its reason.
    pub(super) trouble: Option<&'a PluginStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tests {
    /// Tests that ended without failure.
    pub(super) completed: u64,
    pub(super) failed: u64,
    /// Total number of tests; 0 if unknown.
    pub(super) total: u64,
}

impl Tests {
    pub(super) fn done(self) -> u64 {
        self.completed.saturating_add(self.failed)
    }
}

impl<'a> Plugin<'a> {
    fn new(view: &RunView<'a>, entry: &PluginStatus) -> Self {
        Self {
            name: one_line(&entry.plugin),
            launched: view.status.launched.get(&entry.plugin).copied(),
            waiting: view.waiting.iter().filter(|pod| pod.plugin.as_ref() == Some(&entry.plugin)).collect(),
            ..Self::default()
        }
    }

    fn add(&mut self, view: &RunView<'a>, entry: &'a PluginStatus, now: Timestamp) {
        let result = entry.result_status.as_ref().map(|status| one_line(status.as_str()));
        self.result = match (self.expected, self.result.take(), result) {
            (0, _, result) => result,
            (_, Some(before), Some(result)) => Some(worse(before, result)),
            _ => None,
        };
        // A status from another program may contain any number.
        let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
        add(&mut self.expected, entry.count());
        match entry.status {
            EntryStatus::Complete => add(&mut self.received, entry.count()),
            EntryStatus::Failed | EntryStatus::TimedOut => add(&mut self.missing, entry.count()),
            EntryStatus::Running | EntryStatus::Other(_) => {}
        }
        self.reason = entry.reason.as_deref().filter(|_| self.expected == 1);
        if entry.reason.is_some() && !entry.status.is_final() {
            add(&mut self.troubled, entry.count());
            self.trouble.get_or_insert(entry);
        }
        self.heard |= entry.last_heartbeat.is_some();
        for (status, count) in entry.result_counts.iter().flatten() {
            add(self.counts.entry(one_line(status)).or_default(), *count);
        }
        if let Some(progress) = &entry.progress {
            let tests = self.tests.get_or_insert_default();
            add(&mut tests.completed, u64::try_from(progress.completed).unwrap_or(0));
            add(&mut tests.failed, progress.failed());
            add(&mut tests.total, u64::try_from(progress.total).unwrap_or(0));
            self.message = one_line(&progress.msg);
        }
        if self.expected > 1 {
            // With several results, the message could belong to any of them.
            self.message.clear();
        }
        if let Some(still) = stalled(view.status, entry, now)
            && self.stalled.is_none_or(|(longest, _)| still > longest)
        {
            self.stalled = Some((still, &entry.node));
        }
    }

    /// Adds the result of the plugin as a whole, which has the leaves of all its entries.
    fn add_total(&mut self, total: &PluginTotal) {
        if self.result.is_some() || self.expected == 0 {
            self.result = Some(one_line(total.status.as_str()));
        }
        if let Some(counts) = &total.counts {
            self.counts = counts.iter().map(|(status, n)| (one_line(status), *n)).collect();
        }
    }

    /// Sets the phase, once all entries are processed.
    fn settle(&mut self, view: &RunView<'_>) {
        // Sonobuoy's aggregator reports neither launches nor a run ID.
        let reports_launches = view.status.run.is_some() || matches!(view.logs, Logs::Local(_));
        let mut verdicts = view.status.verdicts.iter().flatten();
        let verdict = verdicts.find(|(name, _)| one_line(name) == self.name).map(|(_, verdict)| verdict);
        self.verdict = verdict.map(|verdict| one_line(&verdict.sentence()));
        self.phase = if self.settled() < self.expected {
            if self.heard || self.tests.is_some() || self.settled() > 0 {
                Phase::Running
            } else if !self.waiting.is_empty() || (reports_launches && self.launched.is_none()) {
                Phase::Waiting
            } else {
                Phase::Starting
            }
        } else if let Some(verdict) = verdict {
            Phase::Ended(verdict.status.to_string())
        } else if let Some(result) = &self.result {
            Phase::Ended(result.clone())
        } else if self.missing == self.expected {
            Phase::Ended("no result".to_owned())
        } else {
            Phase::Reading
        };
        self.tone = match (&self.phase, verdict.map(|verdict| verdict.status)) {
            (Phase::Ended(_), _) if self.missing > 0 => Tone::Bad,
            (Phase::Ended(_), Some(VerdictStatus::Passed)) => Tone::Good,
            (Phase::Ended(_), Some(VerdictStatus::Failed)) => Tone::Bad,
            (Phase::Ended(_), Some(VerdictStatus::Unknown)) => Tone::Warning,
            (Phase::Ended(word), None) => tone_of(word),
            _ => Tone::Plain,
        };
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Returns the number of results that were received or are missing.
    pub(super) fn settled(&self) -> u64 {
        self.received.saturating_add(self.missing)
    }

    /// Returns position and total: of tests if their total is known, otherwise of results.
    pub(super) fn position(&self) -> (u64, u64) {
        match self.tests {
            Some(tests) if tests.total > 0 => (tests.done(), tests.total),
            _ => (self.settled(), self.expected),
        }
    }
}

/// Returns how many results were received or are missing, and how many were expected.
pub(super) fn results(plugins: &[Plugin<'_>]) -> (u64, u64) {
    plugins.iter().fold((0, 0), |(settled, expected), plugin| {
        (settled.saturating_add(plugin.settled()), expected.saturating_add(plugin.expected))
    })
}

pub(super) fn tone_of(status: &str) -> Tone {
    match meaning(&status.into()) {
        Status::Passed => Tone::Good,
        Status::Failed | Status::Timeout => Tone::Bad,
        Status::Skipped | Status::Unknown | Status::NotRead | Status::Custom(_) => Tone::Warning,
    }
}

fn worse(a: String, b: String) -> String {
    let rank = |status: &str| match (tone_of(status), status) {
        (Tone::Bad, "failed") => 0,
        (Tone::Bad, _) => 1,
        (_, "unknown") => 2,
        (Tone::Good, _) => 4,
        _ => 3,
    };
    if rank(&b) < rank(&a) { b } else { a }
}

/// A failed test of a running plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedTest {
    /// The plugin, and the node for a result of one node.
    pub(super) source: String,
    pub(super) name: String,
    /// The first line of why it failed, if the worker knows it.
    pub(super) reason: Option<String>,
}

impl FailedTest {
    pub(super) fn new(entry: &PluginStatus, progress: &ProgressUpdate, test: &str) -> Self {
        let reason = progress.reasons.get(test).map(|reason| excerpt(reason, MAX_REASON));
        Self { source: source(entry), name: one_line(test), reason: reason.filter(|reason| !reason.is_empty()) }
    }
}

/// Returns at most `most` of the latest failed tests, and how many more failed.
pub(super) fn failed_tests(status: &RunStatus, most: usize) -> (Vec<FailedTest>, u64) {
    let all = || status.plugins.iter().flatten().filter_map(|entry| Some((entry, entry.progress.as_ref()?)));
    let mut tests: Vec<FailedTest> = Vec::new();
    for (entry, progress) in all() {
        let left = most.saturating_sub(tests.len());
        tests.extend(progress.failures.iter().rev().take(left).map(|test| FailedTest::new(entry, progress, test)));
    }
    let failed = all().map(|(_, progress)| progress.failed()).fold(0, u64::saturating_add);
    let more = failed.saturating_sub(tests.len() as u64);
    (tests, more)
}

/// Returns the plugin's name, with the node's name for a result of one node.
pub(super) fn source(entry: &PluginStatus) -> String {
    match entry.node.as_str() {
        "" | GLOBAL => one_line(&entry.plugin),
        node => format!("{} on {}", one_line(&entry.plugin), one_line(node)),
    }
}

/// Returns the line that identifies the followed run.
pub(super) fn head(seen: &Seen, cluster: &str, now: Timestamp) -> String {
    let all = RunView::of_cluster(seen).plugins(now);
    let run = seen.status.run.as_deref().map(|run| format!("run {} · ", run.chars().take(6).collect::<String>()));
    let began = seen.began.map(|at| format!(" · {}", period(now.duration_since(at))));
    format!(
        "{}cluster {} · namespace {} · {}, {}{}",
        run.unwrap_or_default(),
        one_line(cluster),
        seen.namespace,
        counted(all.len() as u64, "plugin"),
        counted(results(&all).1, "expected result"),
        began.unwrap_or_default()
    )
}

pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
#[path = "plugins_tests.rs"]
pub(super) mod tests;
