//! Metrics of a run (docs/observability.md).
//!
//! What the ledger knows is read from it at each look. Other things are counted with the event that
//! ends them. The values of labels are names of plugins and words from fixed sets, so their number
//! is bounded.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use parking_lot::Mutex;
use plumbline_core::ledger::{Event, KeyState, Ledger, ResultTally};
use plumbline_core::rollup::meaning;
use plumbline_core::run_status::RunPhase;
use plumbline_core::status::STANDARD;
use plumbline_core::{PluginName, ResultKey, RunId, Status, Verdict};
use plumbline_phonehome::RouteKind;
use plumbline_telemetry::{Family, Histogram, Point};

use crate::postprocess::Usage;

/// Counters of a run, for as long as this process has been working on it.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    plugins: BTreeMap<PluginName, PluginCounts>,
    /// Responses by route and status code.
    requests: BTreeMap<(&'static str, u16), u64>,
}

#[derive(Debug, Default)]
struct PluginCounts {
    stored: u64,
    failed: u64,
    retries: u64,
    bytes: u64,
    upload: Histogram,
    result: Histogram,
    plugin: Histogram,
    post_processing: Histogram,
    calls: u64,
    broken: u64,
    module_time: Duration,
    memory: u64,
}

/// What an event adds to the counters, determined before the ledger applies it.
#[derive(Debug, PartialEq)]
pub(crate) enum Increment {
    /// An upload of a result follows a failed one.
    Retry(PluginName),
    /// An upload failed.
    UploadFailed(PluginName),
    /// A result was stored, with times since the start of its upload and the launch of its plugin.
    Stored { plugin: PluginName, bytes: u64, upload: Option<f64>, result: Option<f64> },
    /// A plugin has its tree. Time since its launch.
    PluginDone { plugin: PluginName, plugin_time: Option<f64> },
}

impl Increment {
    /// Returns what `event` adds to `ledger`, which has not applied it yet.
    pub(crate) fn of(ledger: &Ledger, event: &Event, at: Timestamp) -> Option<Self> {
        let since = |start: Timestamp| at.duration_since(start).as_secs_f64();
        let launched = |key: &ResultKey| ledger.launched(&key.plugin).map(since);
        match event {
            Event::UploadStarted { key, .. } => {
                matches!(ledger.state(key)?, KeyState::Broken { .. }).then(|| Self::Retry(key.plugin.clone()))
            }
            Event::UploadFailed { key, .. } | Event::UploadDelayed { key, .. } => {
                Some(Self::UploadFailed(key.plugin.clone()))
            }
            Event::UploadStored { key, stored, .. } => {
                let upload = match ledger.state(key) {
                    Some(KeyState::Uploading { since: start, .. }) => Some(since(start)),
                    _ => None,
                };
                let (plugin, bytes) = (key.plugin.clone(), stored.bytes);
                Some(Self::Stored { plugin, bytes, upload, result: launched(key) })
            }
            Event::PluginPostProcessed { plugin, .. } => {
                let plugin_time = ledger.launched(plugin).map(since);
                Some(Self::PluginDone { plugin: plugin.clone(), plugin_time })
            }
            _ => None,
        }
    }
}

impl Metrics {
    /// Counts an accepted event.
    pub(crate) fn add(&self, increment: Increment) {
        let mut counted = self.counted.lock();
        match increment {
            Increment::Retry(plugin) => counted.of(&plugin).retries += 1,
            Increment::UploadFailed(plugin) => counted.of(&plugin).failed += 1,
            Increment::Stored { plugin, bytes, upload, result } => {
                let counts = counted.of(&plugin);
                counts.stored += 1;
                counts.bytes = counts.bytes.saturating_add(bytes);
                upload.into_iter().for_each(|seconds| counts.upload.observe(seconds));
                result.into_iter().for_each(|seconds| counts.result.observe(seconds));
            }
            Increment::PluginDone { plugin, plugin_time } => {
                plugin_time.into_iter().for_each(|seconds| counted.of(&plugin).plugin.observe(seconds));
            }
        }
    }

    /// Counts a response to a worker.
    pub(crate) fn answered(&self, route: Option<RouteKind>, status: StatusCode) {
        let route = route.map_or("other", RouteKind::as_str);
        *self.counted.lock().requests.entry((route, status.as_u16())).or_default() += 1;
    }

    pub(crate) fn post_processed(&self, plugin: &PluginName, elapsed: Duration, usage: &Usage) {
        let mut counted = self.counted.lock();
        let counts = counted.of(plugin);
        counts.post_processing.observe(elapsed.as_secs_f64());
        counts.calls += usage.calls;
        counts.broken += usage.broken.len() as u64;
        counts.module_time += usage.wall;
        counts.memory = counts.memory.max(usage.memory);
    }

    /// Returns the metrics that this counts.
    pub(crate) fn families(&self) -> Vec<Family> {
        let counted = self.counted.lock();
        let mut families = counted.numbers();
        families.extend(counted.durations());
        let requests = counted
            .requests
            .iter()
            .map(|((route, code), n)| Point::new([("route", *route), ("code", code.to_string().as_str())], *n as f64));
        let help = "Requests of workers, by route and status code.";
        families.push(Family::counter("plumbline_http_requests", help, requests));
        families
    }
}

/// Reads a number of a plugin.
type Look = fn(&PluginCounts) -> f64;
/// Reads a histogram of a plugin.
type LookAll = fn(&PluginCounts) -> &Histogram;

impl Counted {
    fn of(&mut self, plugin: &PluginName) -> &mut PluginCounts {
        self.plugins.entry(plugin.clone()).or_default()
    }

    fn numbers(&self) -> Vec<Family> {
        let each = |look: Look| {
            self.plugins.iter().map(move |(plugin, counts)| Point::new([("plugin", plugin.as_str())], look(counts)))
        };
        let uploads = self.plugins.iter().flat_map(|(plugin, counts)| {
            [("stored", counts.stored), ("failed", counts.failed)]
                .map(|(outcome, n)| Point::new([("plugin", plugin.as_str()), ("outcome", outcome)], n as f64))
        });
        let mut families =
            vec![Family::counter("plumbline_uploads", "Uploads of results that ended, by outcome.", uploads)];
        let counters: [(&'static str, &'static str, Look); 5] = [
            ("plumbline_upload_retries", "Uploads of a result after a failed one.", |of| of.retries as f64),
            ("plumbline_stored_bytes", "Bytes of stored results, unpacked.", |of| of.bytes as f64),
            ("plumbline_module_calls", "Calls of modules that post-process or summarize.", |of| of.calls as f64),
            (
                "plumbline_module_failures",
                "Calls of modules that crashed, exceeded a limit or broke a rule. At most 20 for each plugin.",
                |of| of.broken as f64,
            ),
            ("plumbline_module_seconds", "Time in calls of modules that succeeded.", |of| of.module_time.as_secs_f64()),
        ];
        families.extend(counters.map(|(name, help, look)| Family::counter(name, help, each(look))));
        let help = "Largest linear memory of one call of a module.";
        families.push(Family::gauge("plumbline_module_memory_peak_bytes", help, each(|of| of.memory as f64)));
        families
    }

    fn durations(&self) -> Vec<Family> {
        let histograms: [(&'static str, &'static str, LookAll); 4] = [
            ("plumbline_upload_duration_seconds", "Durations of uploads that were stored.", |of| &of.upload),
            ("plumbline_result_duration_seconds", "Times from the launch of a plugin to each of its results.", |of| {
                &of.result
            }),
            ("plumbline_plugin_duration_seconds", "Times from the launch of a plugin to its result tree.", |of| {
                &of.plugin
            }),
            ("plumbline_postprocessing_duration_seconds", "Durations of post-processing.", |of| &of.post_processing),
        ];
        let families = histograms.map(|(name, help, look)| {
            let some = self.plugins.iter().filter(|(_, counts)| look(counts).count() > 0);
            let points = some.map(|(plugin, counts)| Point::new([("plugin", plugin.as_str())], look(counts).clone()));
            Family::histogram(name, help, points)
        });
        families.into()
    }
}

/// Label of all statuses that are not standard. Modules can make up any number of them.
const OTHER_STATUS: &str = "other";

/// The verdicts that a run can have.
const VERDICTS: [Verdict; 6] = [
    Verdict::Passed,
    Verdict::Failed,
    Verdict::Incomplete,
    Verdict::SystemFailure,
    Verdict::NothingToJudge,
    Verdict::Interrupted,
];

/// Returns the metrics that the ledger knows.
pub(crate) fn ledger_families(ledger: &Ledger, run: &RunId, started: Timestamp, now: Timestamp) -> Vec<Family> {
    let info = [("run", run.to_string()), ("version", env!("CARGO_PKG_VERSION").to_owned())];
    let phase = ledger.phase(now);
    let truth = |is: bool| f64::from(u8::from(is));
    let phases = [RunPhase::Running, RunPhase::PostProcessing, RunPhase::Complete];
    let phases = phases.into_iter().map(|one| Point::new([("phase", one.as_str())], truth(one == phase)));
    let verdict = (phase == RunPhase::Complete).then(|| Verdict::from_run(&ledger.status(now)));
    let verdicts = verdict.into_iter().flat_map(|verdict| {
        VERDICTS.into_iter().map(move |one| Point::new([("verdict", one.as_str())], truth(one == verdict)))
    });
    let start = started.as_millisecond() as f64 / 1000.0;
    let mut families = vec![
        Family::gauge(
            "plumbline_run_info",
            "The ID of the run and the version of Plumbline.",
            [Point { labels: info.into(), value: 1.0 }],
        ),
        Family::gauge(
            "plumbline_run_start_time_seconds",
            "Start of the run, in seconds since 1970.",
            [Point::new([], start)],
        ),
        Family::gauge("plumbline_run_phase", "Phase of the run: 1 for the current one, 0 for the others.", phases),
        Family::gauge(
            "plumbline_run_verdict",
            "Verdict of the finished run: 1 for its verdict, 0 for the others.",
            verdicts,
        ),
    ];
    families.extend(plugin_families(ledger, now));
    families
}

fn plugin_families(ledger: &Ledger, now: Timestamp) -> Vec<Family> {
    let mut states: BTreeMap<&str, u64> = STATES.into_iter().map(|state| (state, 0)).collect();
    let (mut expected, mut results, mut delayed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut tests, mut progress) = (Vec::new(), Vec::new());
    for plugin in ledger.plugins() {
        *states.entry(plugin_state(ledger, plugin, now)).or_default() += 1;
        let ResultTally { waiting, uploading, retrying, received, failed, delayed: late } = ledger.tally(plugin);
        let by_state = [
            ("waiting", waiting),
            ("uploading", uploading),
            ("retrying", retrying),
            ("received", received),
            ("failed", failed),
        ];
        let alone = |n: u64| Point::new([("plugin", plugin.as_str())], n as f64);
        expected.push(alone(by_state.iter().map(|(_, n)| n).sum()));
        delayed.push(alone(late));
        let of = |(state, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("state", state)], n as f64);
        results.extend(by_state.map(of));
        tests.extend(test_points(ledger, plugin));
        progress.extend(progress_points(ledger, plugin));
    }
    let states = states.into_iter().map(|(state, n)| Point::new([("state", state)], n as f64));
    vec![
        Family::gauge("plumbline_plugins", "Plugins by state.", states),
        Family::gauge(
            "plumbline_results_expected",
            "Expected results: one for each node of a plugin that runs per node, otherwise one.",
            expected,
        ),
        Family::gauge("plumbline_results", "Expected results by state.", results),
        Family::gauge("plumbline_results_delayed", "Results that a known problem currently prevents.", delayed),
        Family::gauge("plumbline_tests", "Tests by status, once the plugin is post-processed.", tests),
        Family::gauge("plumbline_progress_tests", "Tests that plugins have reported so far, by state.", progress),
    ]
}

const STATES: [&str; 5] = ["complete", "post-processing", "running", "skipped", "waiting"];

fn plugin_state(ledger: &Ledger, plugin: &PluginName, now: Timestamp) -> &'static str {
    if ledger.skipped(plugin).is_some() {
        "skipped"
    } else if ledger.plugin_result(plugin).is_some() {
        "complete"
    } else if ledger.is_plugin_complete(plugin, now) {
        "post-processing"
    } else if ledger.launched(plugin).is_some() {
        "running"
    } else {
        "waiting"
    }
}

fn test_points(ledger: &Ledger, plugin: &PluginName) -> Vec<Point<f64>> {
    let Some(result) = ledger.plugin_result(plugin) else { return Vec::new() };
    let mut counts: BTreeMap<&str, u64> = STANDARD.iter().map(|status| (status.as_str(), 0)).collect();
    for (status, n) in &result.counts {
        let counted = meaning(&status.as_str().into());
        let known = STANDARD.iter().find(|known| **known == counted);
        *counts.entry(known.map_or(OTHER_STATUS, Status::as_str)).or_default() += n;
    }
    let point = |(status, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("status", status)], n as f64);
    counts.into_iter().map(point).collect()
}

fn progress_points(ledger: &Ledger, plugin: &PluginName) -> Vec<Point<f64>> {
    let reported = || ledger.keys_of(plugin).filter_map(|key| ledger.progress(key));
    if reported().next().is_none() {
        return Vec::new();
    }
    let at_least_0 = |n: i64| u64::try_from(n).unwrap_or_default();
    let (mut total, mut passed, mut failed) = (0_u64, 0_u64, 0_u64);
    for update in reported() {
        total = total.saturating_add(at_least_0(update.total));
        passed = passed.saturating_add(at_least_0(update.completed));
        failed = failed.saturating_add(update.failures.len() as u64).saturating_add(update.omitted);
    }
    let point = |(state, n): (&str, u64)| Point::new([("plugin", plugin.as_str()), ("state", state)], n as f64);
    [("total", total), ("passed", passed), ("failed", failed)].into_iter().map(point).collect()
}
