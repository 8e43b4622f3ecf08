//! The trace of a run: spans of the run, its plugins, their nodes and tests, after all of them have
//! ended (docs/observability.md).
//!
//! IDs of spans are derived from what they describe. So a plugin gets the ID of its span when it is
//! launched, and a restarted process uses the same IDs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use plumbline_archive::layout;
use plumbline_core::item::{seconds, started};
use plumbline_core::judgement::VerdictStatus;
use plumbline_core::ledger::{KeyState, Ledger};
use plumbline_core::rollup::{is_failure, meaning};
use plumbline_core::{FlatItem, PluginName, ResultKey, RunId, Status, Verdict};
use plumbline_telemetry::otlp::{Attribute, AttributeValue, Batch, Span, SpanKind, SpanStatus};
use plumbline_telemetry::{SpanId, TraceContext, TraceId};

use crate::postprocess::{Leaf, TREE_FILE, leaves};

/// Maximum number of spans of tests in a run. Failed tests come first.
pub(crate) const MAX_TESTS: usize = 10_000;
/// Maximum number of spans of nodes in a run. Those with failures come first.
const MAX_NODES: usize = 10_000;
/// Maximum size of a text to read from a tree. Only its beginning is exported.
const TEXT: usize = 64 << 10;

#[derive(Debug, Clone)]
pub(crate) struct RunTrace {
    run: RunId,
    trace: TraceId,
    parent: Option<TraceContext>,
}

impl RunTrace {
    /// The trace of `parent`, or else one that belongs to the run.
    pub(crate) fn new(run: RunId, parent: Option<TraceContext>) -> Self {
        let trace = parent.as_ref().map_or_else(|| TraceId::derived(&[&run.to_string()]), |parent| parent.trace);
        Self { run, trace, parent }
    }

    /// Returns whether the caller records the trace.
    pub(crate) fn is_sampled(&self) -> bool {
        self.parent.as_ref().is_none_or(|parent| parent.sampled)
    }

    pub(crate) fn context(&self, plugin: &PluginName) -> TraceContext {
        let state = self.state();
        TraceContext { trace: self.trace, span: self.plugin_id(plugin), sampled: self.is_sampled(), state }
    }

    fn state(&self) -> String {
        self.parent.as_ref().map(|parent| parent.state.clone()).unwrap_or_default()
    }

    fn run_id(&self) -> SpanId {
        SpanId::derived(&["run", &self.run.to_string()])
    }

    fn plugin_id(&self, plugin: &PluginName) -> SpanId {
        SpanId::derived(&["plugin", &self.run.to_string(), plugin.as_str()])
    }

    fn node_id(&self, key: &ResultKey) -> SpanId {
        SpanId::derived(&["node", &self.run.to_string(), key.plugin.as_str(), key.node.as_str()])
    }

    fn test_id(&self, plugin: &PluginName, number: u64) -> SpanId {
        SpanId::derived(&["test", &self.run.to_string(), plugin.as_str(), &number.to_string()])
    }

    fn span(&self, id: SpanId, parent: Option<SpanId>, name: String, times: (Timestamp, Timestamp)) -> Span {
        Span {
            trace: self.trace,
            id,
            parent,
            state: self.state(),
            name,
            kind: SpanKind::Internal,
            start: times.0,
            end: times.1,
            attributes: Vec::new(),
            status: SpanStatus::Unset,
        }
    }

    /// Returns the spans of the run and its plugins, and of the nodes of plugins that run per node.
    pub(crate) fn summary(&self, ledger: &Ledger, started: Timestamp, now: Timestamp) -> Vec<Span> {
        let mut spans = vec![self.run_span(ledger, started, now)];
        let mut nodes = Vec::new();
        for plugin in ledger.plugins() {
            let Some(launched) = ledger.launched(plugin) else { continue };
            let ended = ledger.keys_of(plugin).filter_map(|key| ended(ledger, key)).max();
            spans.push(self.plugin_span(ledger, plugin, (launched, ended.unwrap_or(now))));
            nodes.extend(ledger.keys_of(plugin).filter(|key| !key.node.is_global()));
        }
        // Failures first, in case there are too many.
        nodes.sort_by_key(|key| node_result(ledger, key) == "success");
        spans.extend(nodes.into_iter().take(MAX_NODES).filter_map(|key| self.node_span(ledger, key, now)));
        spans
    }

    fn run_span(&self, ledger: &Ledger, started: Timestamp, now: Timestamp) -> Span {
        let verdict = Verdict::from_run(&ledger.status(now));
        let parent = self.parent.as_ref().map(|parent| parent.span);
        let result = match verdict {
            Verdict::Passed => "success",
            Verdict::Failed | Verdict::NothingToJudge => "failure",
            Verdict::Interrupted => "cancellation",
            Verdict::Incomplete | Verdict::SystemFailure => "error",
        };
        let mut span = self.span(self.run_id(), parent, "RUN plumbline".to_owned(), (started, now));
        span.kind = SpanKind::Server;
        span.attributes = vec![
            Attribute::text("cicd.pipeline.name", "plumbline"),
            Attribute::text("cicd.pipeline.action.name", "RUN"),
            Attribute::text("cicd.pipeline.run.id", self.run.to_string()),
            Attribute::text("cicd.pipeline.result", result),
            Attribute::text("plumbline.verdict", verdict.as_str()),
        ];
        conclude(&mut span, result, verdict.as_str().to_owned());
        span
    }

    fn plugin_span(&self, ledger: &Ledger, plugin: &PluginName, times: (Timestamp, Timestamp)) -> Span {
        let judged = ledger.plugin_verdict(plugin);
        let result = match (judged, ledger.plugin_result(plugin)) {
            (Some(verdict), _) if verdict.status == VerdictStatus::Passed => "success",
            (Some(verdict), _) if verdict.status == VerdictStatus::Failed => "failure",
            (Some(_), _) | (None, None) => "error",
            (None, Some(result)) => result_of(&result.status),
        };
        let id = self.plugin_id(plugin);
        let mut span = self.span(id, Some(self.run_id()), plugin.to_string(), times);
        span.attributes = vec![
            Attribute::text("cicd.pipeline.task.name", plugin.as_str()),
            Attribute::text("cicd.pipeline.task.type", "test"),
            Attribute::text("cicd.pipeline.task.run.id", format!("{}/{plugin}", self.run)),
            Attribute::text("cicd.pipeline.task.run.result", result),
            Attribute::text("test.suite.name", plugin.as_str()),
            Attribute::text("test.suite.run.status", suite_status(result)),
        ];
        let counts = || ledger.plugin_result(plugin).into_iter().flat_map(|result| &result.counts);
        for (key, wanted) in [
            ("plumbline.tests.passed", Status::Passed),
            ("plumbline.tests.failed", Status::Failed),
            ("plumbline.tests.skipped", Status::Skipped),
        ] {
            let wanted = counts().filter(|(status, _)| meaning(&status.as_str().into()) == wanted);
            let number = wanted.map(|(_, n)| *n).fold(0, u64::saturating_add);
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            span.attributes.push(Attribute { key, value: AttributeValue::Integer(number) });
        }
        let message = judged.map_or_else(|| result.to_owned(), plumbline_core::judgement::VerdictSummary::sentence);
        conclude(&mut span, result, message);
        span
    }

    fn node_span(&self, ledger: &Ledger, key: &ResultKey, now: Timestamp) -> Option<Span> {
        let times = (ledger.launched(&key.plugin)?, ended(ledger, key).unwrap_or(now));
        let result = node_result(ledger, key);
        let name = format!("{} {}", key.plugin, key.node);
        let mut span = self.span(self.node_id(key), Some(self.plugin_id(&key.plugin)), name, times);
        span.attributes = vec![
            Attribute::text("cicd.pipeline.task.name", key.plugin.as_str()),
            Attribute::text("cicd.pipeline.task.run.id", format!("{}/{key}", self.run)),
            Attribute::text("cicd.pipeline.task.run.result", result),
            Attribute::text("k8s.node.name", key.node.as_str()),
        ];
        let message = ledger.error(key).map_or_else(|| result.to_owned(), |error| error.error.clone());
        conclude(&mut span, result, message);
        Some(span)
    }
}

/// Returns whether an item ran, and whether it failed as `failed` says.
fn is_exported(item: &FlatItem, failed: bool) -> bool {
    item.status.as_ref().is_some_and(|status| {
        let ran = !matches!(meaning(status), Status::Skipped | Status::Unknown | Status::NotRead);
        ran && is_failure(status) == failed
    })
}

/// Sets the status of a span, and its kind of error.
fn conclude(span: &mut Span, result: &str, message: String) {
    match result {
        "success" => span.status = SpanStatus::Ok,
        "skip" => {}
        _ => {
            span.attributes.push(Attribute::text("error.type", result));
            span.status = SpanStatus::Error(message);
        }
    }
}

fn result_of(status: &Status) -> &'static str {
    match meaning(status) {
        Status::Passed | Status::NotRead | Status::Custom(_) => "success",
        Status::Failed => "failure",
        Status::Timeout => "timeout",
        Status::Skipped => "skip",
        Status::Unknown => "error",
    }
}

fn suite_status(result: &str) -> &'static str {
    match result {
        "success" => "success",
        "failure" => "failure",
        "timeout" => "timed_out",
        "skip" => "skipped",
        _ => "aborted",
    }
}

fn node_result(ledger: &Ledger, key: &ResultKey) -> &'static str {
    match (ledger.error(key), ledger.result(key)) {
        (Some(error), _) if error.is_timeout() => "timeout",
        (Some(_), _) | (None, None) => "error",
        (None, Some(result)) => result_of(&result.status),
    }
}

/// Returns when a result was stored, or was known not to arrive.
fn ended(ledger: &Ledger, key: &ResultKey) -> Option<Timestamp> {
    match ledger.state(key)? {
        KeyState::Received { at, .. } | KeyState::Failed { at, .. } => Some(at),
        _ => None,
    }
}

/// What the spans of tests of a plugin need.
pub(crate) struct TestSpans<'a> {
    trace: &'a RunTrace,
    plugin: PluginName,
    tree: PathBuf,
    launched: Timestamp,
    /// The nodes, for a plugin that runs per node.
    nodes: BTreeMap<String, SpanId>,
}

impl<'a> TestSpans<'a> {
    /// Collects what is needed. `None` if the plugin has no tree. `tree` is the content of the
    /// archive.
    pub(crate) fn new(trace: &'a RunTrace, ledger: &Ledger, plugin: &PluginName, tree: &Path) -> Option<Self> {
        ledger.plugin_result(plugin)?;
        let launched = ledger.launched(plugin)?;
        let keys = ledger.keys_of(plugin).filter(|key| !key.node.is_global());
        let nodes = keys.map(|key| (key.node.to_string(), trace.node_id(key))).collect();
        let tree = tree.join(layout::plugin_dir(plugin)).join(TREE_FILE);
        Some(Self { trace, plugin: plugin.clone(), tree, launched, nodes })
    }

    /// Calls `send` with batches of spans of tests that failed, or else of all others that ran, at
    /// most `limit`. Returns their number.
    ///
    /// # Errors
    /// When the tree is not readable, or `send` fails.
    pub(crate) fn each_batch(
        &self,
        failed: bool,
        limit: usize,
        mut send: impl FnMut(Batch) -> io::Result<()>,
    ) -> io::Result<usize> {
        let (mut batch, mut count) = (Batch::default(), 0);
        let is_exported = |item: &FlatItem| is_exported(item, failed);
        leaves(BufReader::new(File::open(&self.tree)?), TEXT, is_exported, |leaf| {
            let span = if count < limit { self.span(&leaf, failed) } else { None };
            let Some(span) = span else { return Ok(()) };
            count += 1;
            if batch.push(span) { send(std::mem::take(&mut batch)) } else { Ok(()) }
        })?;
        if !batch.is_empty() {
            send(batch)?;
        }
        Ok(count)
    }

    /// Returns the span of a leaf, if it is a test that ran. Without a start, it is the plugin's.
    fn span(&self, leaf: &Leaf, failed: bool) -> Option<Span> {
        let item = &leaf.item;
        let status = item.status.as_ref()?;
        if !leaf.is_test() || !is_exported(item, failed) {
            return None;
        }
        let start = started(&item.meta, &item.details);
        let length = SignedDuration::try_from_secs_f64(seconds(&item.meta).unwrap_or_default()).unwrap_or_default();
        let begin = start.unwrap_or(self.launched);
        let times = (begin, begin.checked_add(length).unwrap_or(begin));
        let id = self.trace.test_id(&self.plugin, leaf.number);
        let node = self.nodes.get(&*leaf.top).copied();
        let parent = node.unwrap_or_else(|| self.trace.plugin_id(&self.plugin));
        let mut span = self.trace.span(id, Some(parent), item.name.clone(), times);
        span.attributes = vec![
            Attribute::text("test.case.name", item.name.as_str()),
            Attribute::text("test.case.result.status", if failed { "fail" } else { "pass" }),
            Attribute::text("test.suite.name", self.plugin.as_str()),
            Attribute::text("plumbline.status", status.as_str()),
        ];
        if start.is_none() {
            span.attributes.push(Attribute { key: "plumbline.start.unknown", value: AttributeValue::Truth(true) });
        }
        if failed {
            let why = plumbline_core::reason(&item.name, &item.details, &item.meta);
            conclude(&mut span, result_of(status), why.unwrap_or_else(|| status.to_string()));
        }
        Some(span)
    }
}
