//! Metrics of a run (docs/observability.md).
//!
//! What the ledger knows is read from it at each look. Durations, bytes and attempts are counted
//! when the event that ends them is accepted, which [`crate::State`] does in one place. The values of
//! labels are the names of plugins and words from fixed sets, so their number is bounded.

mod view;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use plumbline_core::ledger::{Event, KeyState, Ledger};
use plumbline_core::{PluginName, ResultKey};
use plumbline_phonehome::RouteKind;
use plumbline_telemetry::{Family, Histogram, Point, SECONDS};

use crate::postprocess::Usage;

pub(crate) use view::ledger_families;

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

#[derive(Debug)]
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

impl Default for PluginCounts {
    fn default() -> Self {
        let histogram = || Histogram::new(SECONDS);
        Self {
            stored: 0,
            failed: 0,
            retries: 0,
            bytes: 0,
            upload: histogram(),
            result: histogram(),
            plugin: histogram(),
            post_processing: histogram(),
            calls: 0,
            broken: 0,
            module_time: Duration::ZERO,
            memory: 0,
        }
    }
}

/// What an event adds to the counters. It is determined before the ledger applies the event, and
/// counted only if the ledger accepts it.
#[derive(Debug, PartialEq)]
pub(crate) enum Increment {
    /// An upload of a result follows a failed one.
    Retry(PluginName),
    /// An upload failed.
    UploadFailed(PluginName),
    /// A result was stored. Times since the start of its upload, and since the launch of its plugin.
    Stored { plugin: PluginName, bytes: u64, upload: Option<f64>, result: Option<f64> },
    /// A plugin has its tree. Time since its launch.
    PluginDone { plugin: PluginName, plugin_time: Option<f64> },
}

impl Increment {
    /// Returns what `event` will add, if anything. `ledger` has not applied it yet.
    pub(crate) fn of(ledger: &Ledger, event: &Event, at: Timestamp) -> Option<Self> {
        let since = |start: Timestamp| at.duration_since(start).as_secs_f64();
        let launched = |key: &ResultKey| ledger.launched(&key.plugin).map(since);
        match event {
            Event::UploadStarted { key, .. } => {
                matches!(ledger.state(key)?, KeyState::Broken { .. }).then(|| Self::Retry(key.plugin.clone()))
            }
            Event::UploadFailed { key, .. } => Some(Self::UploadFailed(key.plugin.clone())),
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
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an accepted event.
    pub(crate) fn add(&self, increment: Increment) {
        let mut counted = self.lock();
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
        *self.lock().requests.entry((route, status.as_u16())).or_default() += 1;
    }

    /// Counts the post-processing of a plugin.
    pub(crate) fn post_processed(&self, plugin: &PluginName, elapsed: Duration, usage: &Usage) {
        let mut counted = self.lock();
        let counts = counted.of(plugin);
        counts.post_processing.observe(elapsed.as_secs_f64());
        counts.calls += usage.calls;
        counts.broken += usage.broken.len() as u64;
        counts.module_time += usage.wall;
        counts.memory = counts.memory.max(usage.memory);
    }

    /// Returns the metrics that this counts.
    pub(crate) fn families(&self) -> Vec<Family> {
        let counted = self.lock();
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

impl Counted {
    fn of(&mut self, plugin: &PluginName) -> &mut PluginCounts {
        self.plugins.entry(plugin.clone()).or_default()
    }

    fn numbers(&self) -> Vec<Family> {
        let each = |look: fn(&PluginCounts) -> f64| {
            self.plugins.iter().map(move |(plugin, counts)| Point::new([("plugin", plugin.as_str())], look(counts)))
        };
        let counter = |name: &'static str, help: &'static str, look: fn(&PluginCounts) -> f64| {
            Family::counter(name, help, each(look))
        };
        let uploads = self.plugins.iter().flat_map(|(plugin, counts)| {
            [("stored", counts.stored), ("failed", counts.failed)]
                .map(|(outcome, n)| Point::new([("plugin", plugin.as_str()), ("outcome", outcome)], n as f64))
        });
        vec![
            Family::counter("plumbline_uploads", "Uploads of results that ended, by outcome.", uploads),
            counter("plumbline_upload_retries", "Uploads of a result after a failed one.", |counts| {
                counts.retries as f64
            }),
            counter("plumbline_stored_bytes", "Bytes of stored results, unpacked.", |counts| counts.bytes as f64),
            counter("plumbline_module_calls", "Calls of modules that post-process or summarize.", |counts| {
                counts.calls as f64
            }),
            counter(
                "plumbline_module_failures",
                "Calls of modules that crashed, exceeded a limit or broke a rule. At most 20 for each plugin.",
                |counts| counts.broken as f64,
            ),
            counter("plumbline_module_seconds", "Time in calls of modules that succeeded.", |counts| {
                counts.module_time.as_secs_f64()
            }),
            Family::gauge(
                "plumbline_module_memory_peak_bytes",
                "Largest linear memory of one call of a module.",
                each(|counts| counts.memory as f64),
            ),
        ]
    }

    fn durations(&self) -> Vec<Family> {
        let histogram = |name: &'static str, help: &'static str, look: fn(&PluginCounts) -> &Histogram| {
            let some = self.plugins.iter().filter(|(_, counts)| look(counts).count() > 0);
            Family::histogram(
                name,
                help,
                some.map(|(plugin, counts)| Point::new([("plugin", plugin.as_str())], look(counts).clone())),
            )
        };
        vec![
            histogram("plumbline_upload_duration_seconds", "Durations of uploads that were stored.", |counts| {
                &counts.upload
            }),
            histogram(
                "plumbline_result_duration_seconds",
                "Times from the launch of a plugin to each of its results.",
                |counts| &counts.result,
            ),
            histogram(
                "plumbline_plugin_duration_seconds",
                "Times from the launch of a plugin to its result tree.",
                |counts| &counts.plugin,
            ),
            histogram("plumbline_postprocessing_duration_seconds", "Durations of post-processing.", |counts| {
                &counts.post_processing
            }),
        ]
    }
}
