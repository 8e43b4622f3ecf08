//! Reports what changed between two looks at a run, one line per event. Used for output that is
//! kept, such as the log of a CI job.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use plumbline_app::report::status::{period, skipped};
use plumbline_app::report::text::one_line;
use plumbline_core::GLOBAL;
use plumbline_core::run_status::{PluginStatus, RunPhase, RunStatus};

use crate::ui::line::{Line, Tone};
use crate::ui::live::counts;
use crate::ui::plugins::{FailedTest, Logs, Phase, Plugin, RunView, source, tone_of};

/// Number of progress steps per plugin: 5,000 nodes print 20 lines.
const STEPS: u64 = 20;
/// Time after which progress is printed even if it does not reach the next step.
const PROGRESS_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// Maximum reasons printed per plugin for missing or late results.
const MAX_REASONS: usize = 20;
/// Maximum waiting pods printed per plugin.
const MAX_WAITING: usize = 10;
/// Maximum failed tests printed per result and look.
const MAX_FAILED: usize = 10;
const MAX_COLUMNS: usize = 400;
/// Seconds that a pod may take to start before it is printed as waiting.
const STARTING_SECONDS: i64 = 20;

/// The skipped plugins that were printed.
#[derive(Debug, Default)]
pub(super) struct SkippedPlugins(BTreeSet<String>);

impl SkippedPlugins {
    /// Returns one line for each newly skipped plugin.
    pub(super) fn lines(&mut self, status: &RunStatus) -> Vec<String> {
        let new = status.skipped.iter().filter(|(plugin, _)| self.0.insert((*plugin).clone()));
        new.map(|(plugin, why)| skipped(plugin, why)).collect()
    }
}

/// Reports what is new in each look.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    plugins: BTreeMap<String, Reported>,
    /// Failed tests that were printed, by plugin and node.
    failures: BTreeMap<(String, String), usize>,
    waiting: BTreeSet<(String, String)>,
    /// Reasons that were printed, by plugin and node.
    reasons: BTreeMap<(String, String), String>,
    skipped: SkippedPlugins,
    phase: String,
}

#[derive(Debug, Default)]
struct Reported {
    heard: bool,
    progress: Option<Progress>,
    message: String,
    step: u64,
    missing: u64,
    result: Option<String>,
    verdict: Option<String>,
    stalled: bool,
    waiting: usize,
    reasons: usize,
}

#[derive(Debug, Clone, Copy)]
struct Progress {
    counts: (u64, u64),
    step: u64,
    at: Timestamp,
}

impl EventLog {
    pub(super) fn lines(&mut self, run: RunView<'_>, now: Timestamp) -> Vec<Line> {
        let mut lines: Vec<Line> =
            self.skipped.lines(run.status).iter().map(|text| Line::of(Tone::Plain, text)).collect();
        let mut failed = BTreeMap::<String, Vec<Line>>::new();
        let mut troubled = BTreeMap::<String, Vec<&PluginStatus>>::new();
        for entry in run.status.plugins.iter().flatten() {
            if entry.reason.is_some() {
                troubled.entry(one_line(&entry.plugin)).or_default().push(entry);
            }
            let new = failures(&mut self.failures, entry);
            if !new.is_empty() {
                failed.entry(one_line(&entry.plugin)).or_default().extend(new);
            }
        }
        for plugin in run.plugins(now) {
            let reported = self.plugins.entry(plugin.name.clone()).or_default();
            if plugin.heard && !reported.heard {
                reported.heard = true;
                lines.push(event(&plugin.name, Tone::Plain, "running"));
            }
            reported.progress(&plugin, now, &mut lines);
            lines.extend(failed.remove(&plugin.name).unwrap_or_default());
            reported.results(&plugin, run, &mut lines);
            for pod in &plugin.waiting {
                // A starting pod is printed only if it takes long.
                let lasts = pod.since.is_none_or(|at| now.duration_since(at).as_secs() >= STARTING_SECONDS);
                if (pod.is_starting() && !lasts) || !self.waiting.insert((pod.pod.clone(), pod.reason.clone())) {
                    continue;
                }
                reported.waiting += 1;
                if reported.waiting == MAX_WAITING + 1 {
                    lines.push(event(&plugin.name, Tone::Plain, "more pods are waiting"));
                } else if reported.waiting <= MAX_WAITING {
                    let node = pod.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
                    let text = format!("waiting: {}", one_line(&pod.words()));
                    lines.push(event(&format!("{}{node}", plugin.name), Tone::Plain, &text));
                }
            }
            let entries = troubled.remove(&plugin.name).unwrap_or_default();
            reported.reasons(&plugin, &entries, &mut self.reasons, &mut lines);
        }
        let phase = one_line(run.status.status.as_str());
        // For a local run, the outcome follows immediately.
        if matches!(run.logs, Logs::Cluster(_)) && phase != self.phase && !self.phase.is_empty() {
            lines.push(match run.status.status {
                RunPhase::PostProcessing => Line::of(Tone::Plain, "post-processing the results"),
                _ => Line::of(Tone::Plain, &format!("the run is {phase}")),
            });
        }
        self.phase = phase;
        lines.into_iter().map(|line| line.cut(MAX_COLUMNS)).collect()
    }
}

impl Reported {
    fn progress(&mut self, plugin: &Plugin<'_>, now: Timestamp, lines: &mut Vec<Line>) {
        let Some(tests) = plugin.tests else { return };
        let counts = (tests.completed, tests.failed);
        let step = tests.done().saturating_mul(STEPS) / tests.total.max(1);
        let is_due = self.progress.is_none_or(|last| {
            let long = now.duration_since(last.at) >= PROGRESS_EVERY;
            let ended = plugin.settled() == plugin.expected;
            let stepped = tests.total > 0 && step != last.step;
            counts != last.counts && (long || ended || stepped || tests.failed != last.counts.1)
        });
        if is_due {
            let total = if tests.total > 0 { format!("{}/{}   ", tests.done(), tests.total) } else { String::new() };
            // A suite may send the same message with every test.
            let is_new = !plugin.message.is_empty() && plugin.message != self.message;
            let message = if is_new { format!("   {}", plugin.message) } else { String::new() };
            self.message.clone_from(&plugin.message);
            let text = format!("{total}{} passed or skipped   {} failed{message}", tests.completed, tests.failed);
            lines.push(event(&plugin.name, Tone::Plain, &text));
            self.progress = Some(Progress { counts, step, at: now });
        }
    }

    /// Adds lines about what keeps results of a plugin from arriving. For a plugin with one result,
    /// [`Self::results`] prints why it is missing.
    fn reasons(
        &mut self,
        plugin: &Plugin<'_>,
        entries: &[&PluginStatus],
        printed: &mut BTreeMap<(String, String), String>,
        lines: &mut Vec<Line>,
    ) {
        for entry in entries {
            let key = (entry.plugin.clone(), entry.node.clone());
            let Some(reason) = &entry.reason else { continue };
            let is_final = entry.status.is_final();
            // A waiting pod already has its own line.
            let waits = plugin.waiting.iter().any(|pod| pod.node.as_ref() == Some(&entry.node) || entry.node == GLOBAL);
            if (is_final && plugin.expected == 1) || (!is_final && waits) {
                continue;
            }
            if printed.insert(key, reason.clone()).as_ref() == Some(reason) {
                continue;
            }
            self.reasons += 1;
            if self.reasons == MAX_REASONS + 1 {
                lines.push(event(&plugin.name, Tone::Warning, "more results have problems"));
            } else if self.reasons <= MAX_REASONS {
                let (tone, what) = if is_final { (Tone::Bad, "no result") } else { (Tone::Warning, "still waiting") };
                lines.push(event(&source(entry), tone, &format!("{what}: {}", one_line(reason))));
            }
        }
    }

    /// Adds lines about the results of a plugin: how a single result ended, or how many of several
    /// were received.
    fn results(&mut self, plugin: &Plugin<'_>, run: RunView<'_>, lines: &mut Vec<Line>) {
        let name = &plugin.name;
        let step = plugin.settled().saturating_mul(STEPS) / plugin.expected.max(1);
        let all = plugin.settled() == plugin.expected;
        if plugin.expected > 1 && (step > self.step || plugin.missing > self.missing) {
            let missing =
                if plugin.missing > 0 { format!(", {} will not arrive", plugin.missing) } else { String::new() };
            let tone = if plugin.missing > self.missing { Tone::Bad } else { Tone::Plain };
            lines.push(event(name, tone, &format!("{} of {} results{missing}", plugin.received, plugin.expected)));
        } else if plugin.expected == 1 && all && step > self.step {
            let (tone, text) = match (plugin.missing, plugin.reason) {
                (0, _) => (Tone::Plain, "result received".to_owned()),
                (_, Some(reason)) => (Tone::Bad, format!("no result: {}", one_line(reason))),
                (_, None) => (Tone::Bad, "no result".to_owned()),
            };
            lines.push(event(name, tone, &text));
        }
        self.step = self.step.max(step);
        self.missing = plugin.missing;
        if let (Some((still, node)), false) = (plugin.stalled, self.stalled) {
            let text = format!("no progress for {}: {}", period(still), run.logs.hint(name, node));
            lines.push(event(name, Tone::Warning, &text));
        }
        self.stalled = plugin.stalled.is_some();
        if let Some(result) = plugin.result.as_ref().filter(|result| self.result.as_ref() != Some(*result)) {
            let mut line = event(name, tone_of(result), result);
            // A status that consists of counts already contains them.
            if !result.contains(": ") {
                counts(plugin).iter().for_each(|(tone, text)| {
                    line.push(Tone::Plain, "   ").push(*tone, text);
                });
            }
            lines.push(line);
        }
        self.result.clone_from(&plugin.result);
        if let (Some(verdict), Phase::Ended(_)) = (&plugin.verdict, &plugin.phase)
            && self.verdict.as_ref() != Some(verdict)
        {
            lines.push(event(name, plugin.tone, &format!("verdict: {verdict}")));
            self.verdict = Some(verdict.clone());
        }
    }
}

/// Returns lines about the tests of a result that failed since the last look. The first line of a
/// reason is indented below its test.
fn failures(printed: &mut BTreeMap<(String, String), usize>, entry: &PluginStatus) -> Vec<Line> {
    let Some(progress) = entry.progress.as_ref().filter(|progress| !progress.failures.is_empty()) else {
        return Vec::new();
    };
    let before = printed.entry((entry.plugin.clone(), entry.node.clone())).or_default();
    let new = progress.failures.get(*before..).unwrap_or_default();
    *before = progress.failures.len();
    let more = new.len().saturating_sub(MAX_FAILED);
    let more = (more > 0).then(|| event(&source(entry), Tone::Bad, &format!("{more} more tests failed")));
    let failed = new.iter().take(MAX_FAILED).flat_map(|test| {
        let test = FailedTest::new(entry, progress, test);
        let line = event(&test.source, Tone::Bad, &format!("FAIL {}", test.name));
        [Some(line), test.reason.map(|reason| Line::of(Tone::Plain, &format!("    {reason}")))].into_iter().flatten()
    });
    failed.chain(more).collect()
}

fn event(name: &str, tone: Tone, text: &str) -> Line {
    let mut line = Line::of(Tone::Plain, &format!("{name}: "));
    line.push(tone, text);
    line
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
