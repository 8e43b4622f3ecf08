//! Kubernetes events on the aggregator's pod: `kubectl describe pod` shows what the run has done.
//!
//! Events are for plugins, never for single nodes. Problems of many nodes are one event, and the
//! next one follows when their number has doubled.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_aggregator::State;
use plumbline_core::ledger::{Judged, Ledger};
use plumbline_core::rollup;
use plumbline_core::run_status::{RunPhase, RunStatus};
use plumbline_core::text::excerpt;
use plumbline_core::{PluginName, ResultKey, Verdict};
use tokio_util::sync::CancellationToken;

use crate::events::{Events, Notice, Subject, normal, warning};
use crate::status::PublishOptions;

/// Maximum number of events on the pod, in addition to the last one.
const MAX_EVENTS: usize = 200;
/// Maximum number of events about problems of one plugin, which may come and go for hours.
const MAX_PROBLEMS: u32 = 30;
/// Minimum interval between two looks at the ledger.
const PAUSE: Duration = Duration::from_secs(2);
/// Maximum length of a reason in a message, in characters.
const MAX_REASON: usize = 300;

/// Creates the events of a run on its aggregator's pod.
pub struct RunEvents {
    events: Events,
    last: Events,
    pod: Subject,
}

impl RunEvents {
    /// Creates events on the pod to which the status is published. `None` if its UID is not known.
    #[must_use]
    pub fn new(options: &PublishOptions) -> Option<Self> {
        let uid = options.owner.as_ref()?.uid.clone();
        let events = |limit| Events::at_most(limit, &options.cluster, &options.namespace);
        let pod = Subject { name: options.pod.clone(), uid };
        // The end has a limit of its own, so that it is never left out. With a limit of 1, the
        // event would say that it is the last one.
        Some(Self { events: events(MAX_EVENTS), last: events(2), pod })
    }

    /// Returns a future that creates events as the run advances, until `stop` is cancelled. What
    /// happened before this call is not repeated: another process may have started the run.
    pub fn follow(self, state: State, stop: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
        let mut changes = state.changes();
        let mut story = state.read(Story::begin);
        async move {
            self.create_all(std::mem::take(&mut story.begin)).await;
            loop {
                changes.mark_unchanged();
                let stopped = stop.is_cancelled();
                let now = state.now();
                let notices = state.read(|ledger| story.next(ledger, now));
                self.create_all(notices).await;
                self.create_all(story.journal(state.trouble())).await;
                if stopped {
                    return;
                }
                // After the end, the loop runs once more for what happened since the last look.
                stop.run_until_cancelled(async {
                    tokio::time::sleep(PAUSE).await;
                    // An error means that the run is gone, and `stop` follows.
                    if changes.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                })
                .await;
            }
        }
    }

    /// Creates the event of the end.
    pub async fn end(&self, status: &RunStatus) {
        self.last.create(&self.pod, end(status)).await;
    }

    async fn create_all(&self, notices: Vec<Notice>) {
        for notice in notices {
            self.events.create(&self.pod, notice).await;
        }
    }
}

fn end(status: &RunStatus) -> Notice {
    let verdict = Verdict::from_run(status);
    let notice = if verdict == Verdict::Passed { normal } else { warning };
    let reason = status.failure.as_ref().map(|failure| excerpt(&failure.reason, MAX_REASON));
    if status.status == RunPhase::Failed {
        let why = reason.unwrap_or_else(|| "the reason is unknown".to_owned());
        return notice("RunFailed", format!("The run failed: {why}"));
    }
    let judged = status.verdicts.iter().flatten().map(|(plugin, verdict)| format!("`{plugin}` {}", verdict.sentence()));
    let parts: Vec<String> = std::iter::once(format!("verdict {}", verdict.as_str()))
        .chain(judged)
        .chain(reason)
        .chain((!status.tar_info.name.is_empty()).then(|| format!("archive {}", status.tar_info.name)))
        .collect();
    notice("RunFinished", format!("The run finished: {}", parts.join("; ")))
}

/// What the events have said so far.
#[derive(Debug, Default)]
struct Story {
    begin: Vec<Notice>,
    plugins: BTreeMap<PluginName, Reported>,
    stuck: bool,
}

/// What the events have said about a plugin.
#[derive(Debug, Default)]
struct Reported {
    launched: bool,
    over: bool,
    /// The number of delayed results in the last event about them, and of lost ones.
    delayed: u64,
    lost: u64,
    /// The number of events about problems.
    problems: u32,
}

impl Story {
    /// Starts with a run, which another process may have started.
    fn begin(ledger: &Ledger) -> Self {
        let (plugins, results) = (ledger.plugins().len(), ledger.keys().len());
        let resumed = ledger.plugins().any(|plugin| ledger.launched(plugin).is_some());
        let mut story = Self::default();
        let what = format!("plugins {plugins}, expected results {results}");
        story.begin.push(match resumed {
            true => normal("RunResumed", format!("The run continues after a restart: {what}")),
            false => normal("RunStarted", format!("The run started: {what}")),
        });
        for plugin in ledger.plugins() {
            let tally = ledger.tally(plugin);
            let over = ledger.plugin_result(plugin).is_some() || ledger.skipped(plugin).is_some();
            let launched = ledger.launched(plugin).is_some();
            let reported = Reported { launched, over, lost: tally.failed, ..Reported::default() };
            story.plugins.insert(plugin.clone(), reported);
        }
        story
    }

    /// Returns what has happened since the last call.
    fn next(&mut self, ledger: &Ledger, now: Timestamp) -> Vec<Notice> {
        let mut notices = Vec::new();
        for plugin in ledger.plugins() {
            let reported = self.plugins.entry(plugin.clone()).or_default();
            if reported.over {
                continue;
            }
            if let Some(why) = ledger.skipped(plugin) {
                reported.over = true;
                notices.push(normal(
                    "PluginSkipped",
                    format!("Plugin `{plugin}` is skipped: {}", excerpt(why, MAX_REASON)),
                ));
                continue;
            }
            if ledger.launched(plugin).is_some() && !std::mem::replace(&mut reported.launched, true) {
                let results = ledger.keys_of(plugin).count();
                notices.push(normal(
                    "PluginLaunched",
                    format!("Plugin `{plugin}` was launched: expected results {results}"),
                ));
            }
            notices.extend(reported.problems(ledger, plugin));
            if let Some(result) = ledger.plugin_result(plugin) {
                reported.over = true;
                notices.push(finished(ledger, plugin, result, now));
            }
        }
        notices
    }

    /// Returns what to say about the journal, which cannot be written because of `trouble`.
    fn journal(&mut self, trouble: Option<String>) -> Vec<Notice> {
        let was = std::mem::replace(&mut self.stuck, trouble.is_some());
        match trouble {
            Some(why) if !was => {
                let why = excerpt(&why, MAX_REASON);
                vec![warning("JournalStuck", format!("The aggregator rejects results for now: {why}"))]
            }
            None if was => vec![normal("JournalRecovered", "The aggregator accepts results again".to_owned())],
            _ => Vec::new(),
        }
    }
}

impl Reported {
    fn problems(&mut self, ledger: &Ledger, plugin: &PluginName) -> Vec<Notice> {
        if self.problems >= MAX_PROBLEMS {
            return Vec::new();
        }
        let tally = ledger.tally(plugin);
        let all = ledger.keys_of(plugin).count();
        let mut notices = Vec::new();
        if is_news(self.delayed, tally.delayed) {
            self.delayed = tally.delayed;
            let first = first(ledger, plugin, |key| ledger.problem(key));
            let message = format!("{} of {all} results of plugin `{plugin}` are delayed; {first}", tally.delayed);
            notices.push(warning("ResultsDelayed", message));
        } else if tally.delayed == 0 && self.delayed > 0 {
            self.delayed = 0;
            let message = format!("No result of plugin `{plugin}` is delayed any more");
            notices.push(normal("ResultsRecovered", message));
        }
        if is_news(self.lost, tally.failed) {
            self.lost = tally.failed;
            let first = first(ledger, plugin, |key| ledger.error(key).map(|error| error.error.as_str()));
            let message = format!("{} of {all} results of plugin `{plugin}` will not arrive; {first}", tally.failed);
            notices.push(warning("ResultsLost", message));
        }
        self.problems += u32::try_from(notices.len()).unwrap_or(MAX_PROBLEMS);
        notices
    }
}

/// Returns whether the number of problems has at least doubled since the last event.
fn is_news(reported: u64, now: u64) -> bool {
    now > 0 && now >= reported.saturating_mul(2) && now > reported
}

/// Returns the first problem of a plugin that `look` finds, with its node.
fn first<'a>(ledger: &'a Ledger, plugin: &PluginName, look: impl Fn(&ResultKey) -> Option<&'a str>) -> String {
    let mut found = ledger.keys_of(plugin).filter_map(|key| Some((key, look(key)?)));
    match found.next() {
        Some((key, why)) => format!("the first is `{}`: {}", key.node, excerpt(why, MAX_REASON)),
        None => "the reason is unknown".to_owned(),
    }
}

fn finished(ledger: &Ledger, plugin: &PluginName, result: &Judged, now: Timestamp) -> Notice {
    let Judged { status, counts } = result;
    let good = rollup::worst(status).is_none();
    let counts: Vec<String> = counts.iter().map(|(status, n)| format!("{n} {}", excerpt(status, 40))).collect();
    let counts = match ledger.nothing_expected(plugin) {
        Some(why) => excerpt(why, MAX_REASON),
        None if counts.is_empty() => "no items".to_owned(),
        None => counts.join(", "),
    };
    let after = ledger.launched(plugin).map(|at| format!(" after {} s", now.duration_since(at).as_secs()));
    let status = excerpt(status.as_str(), 60);
    let message = format!("Plugin `{plugin}` finished{}: {status} ({counts})", after.unwrap_or_default());
    if good { normal("PluginFinished", message) } else { warning("PluginFinished", message) }
}

#[cfg(test)]
mod tests {
    use plumbline_core::Status;
    use plumbline_core::ledger::{ErrorRecord, Event};

    use super::*;

    struct Run {
        ledger: Ledger,
        story: Story,
        seconds: i64,
    }

    impl Run {
        fn apply(&mut self, event: Event) -> Vec<String> {
            self.seconds += 1;
            self.ledger.apply(self.now(), event).unwrap();
            let notices = self.story.next(&self.ledger, self.now());
            notices.iter().map(|notice| format!("{} {}", notice.reason, notice.message)).collect()
        }

        fn now(&self) -> Timestamp {
            Timestamp::new(self.seconds, 0).unwrap()
        }
    }

    fn plugin() -> PluginName {
        "check".parse().unwrap()
    }

    fn key(node: usize) -> ResultKey {
        ResultKey::new(plugin(), format!("node-{node}").parse().unwrap())
    }

    fn run(nodes: usize) -> Run {
        let mut ledger = Ledger::default();
        let planned = Event::Planned { plugin: plugin(), keys: (0..nodes).map(key).collect() };
        ledger.apply(Timestamp::UNIX_EPOCH, planned).unwrap();
        let story = Story::begin(&ledger);
        assert_eq!(story.begin[0].message, format!("The run started: plugins 1, expected results {nodes}"));
        Run { ledger, story, seconds: 0 }
    }

    #[test]
    fn each_step_of_a_plugin_is_one_event() {
        let mut run = run(2);
        assert_eq!(
            run.apply(Event::Launched { plugin: plugin() }),
            ["PluginLaunched Plugin `check` was launched: expected results 2"]
        );
        let reason = Some("the image cannot be pulled".to_owned());
        assert_eq!(
            run.apply(Event::Problem { key: key(1), reason }),
            [
                "ResultsDelayed 1 of 2 results of plugin `check` are delayed; the first is `node-1`: the image cannot be pulled"
            ]
        );
        assert_eq!(
            run.apply(Event::Problem { key: key(1), reason: None }),
            ["ResultsRecovered No result of plugin `check` is delayed any more"]
        );
        let failed = Event::Failed { key: key(0), error: ErrorRecord::new("the node is gone") };
        assert_eq!(
            run.apply(failed),
            ["ResultsLost 1 of 2 results of plugin `check` will not arrive; the first is `node-0`: the node is gone"]
        );
        let counts = [("failed".to_owned(), 1), ("passed".to_owned(), 4)].into();
        assert_eq!(
            run.apply(Event::PluginPostProcessed { plugin: plugin(), status: Status::Failed, counts }),
            ["PluginFinished Plugin `check` finished after 4 s: failed (1 failed, 4 passed)"]
        );
        assert!(run.story.next(&run.ledger, run.now()).is_empty(), "nothing is said twice");
    }

    #[test]
    fn a_custom_status_counts_as_in_the_verdict() {
        let severity = |status: Status| {
            let judged = Judged { status, counts: BTreeMap::new() };
            finished(&Ledger::default(), &plugin(), &judged, Timestamp::UNIX_EPOCH).severity
        };
        for good in ["passed", "skipped", "success", "passed: 3, skipped: 1"] {
            assert_eq!(severity(Status::from(good)), "Normal", "{good}");
        }
        for bad in ["failed", "timeout", "unknown", "error", "passed: 3, failed: 1"] {
            assert_eq!(severity(Status::from(bad)), "Warning", "{bad}");
        }
        assert_eq!(severity(Status::NotRead), "Normal");
    }

    #[test]
    fn problems_of_hundreds_of_nodes_are_a_few_events() {
        let nodes = 600;
        let mut run = run(nodes);
        run.apply(Event::Launched { plugin: plugin() });
        let mut events = 0;
        for node in 0..nodes {
            events += run.apply(Event::Problem { key: key(node), reason: Some("not ready".to_owned()) }).len();
        }
        for node in 0..nodes {
            events += run.apply(Event::Failed { key: key(node), error: ErrorRecord::new("gone") }).len();
        }
        assert!((10..=25).contains(&events), "{events} events");
    }

    #[test]
    fn a_problem_that_comes_and_goes_does_not_fill_the_events() {
        let mut run = run(1);
        run.apply(Event::Launched { plugin: plugin() });
        let mut events = 0;
        for _ in 0..500 {
            events += run.apply(Event::Problem { key: key(0), reason: Some("not ready".to_owned()) }).len();
            events += run.apply(Event::Problem { key: key(0), reason: None }).len();
        }
        assert_eq!(events, 30);
        let counts = [("passed".to_owned(), 1)].into();
        run.apply(Event::Failed { key: key(0), error: ErrorRecord::new("gone") });
        assert_eq!(run.apply(Event::PluginPostProcessed { plugin: plugin(), status: Status::Passed, counts }).len(), 1);
    }

    #[test]
    fn a_resumed_run_repeats_nothing() {
        let mut run = run(1);
        run.apply(Event::Launched { plugin: plugin() });
        let mut story = Story::begin(&run.ledger);
        assert_eq!(story.begin[0].reason, "RunResumed");
        assert!(story.next(&run.ledger, run.now()).is_empty());
    }

    #[test]
    fn the_end_has_the_verdict_and_only_a_pass_is_normal() {
        let status = RunStatus { interrupted: true, status: RunPhase::Complete, ..RunStatus::default() };
        let notice = end(&status);
        assert_eq!((notice.severity, notice.reason), ("Warning", "RunFinished"));
        assert_eq!(notice.message, "The run finished: verdict interrupted");
        let failed = RunStatus { status: RunPhase::Failed, ..RunStatus::default() };
        assert_eq!(end(&failed).message, "The run failed: the reason is unknown");
    }
}
