//! Export of the trace of a run, at its end. The run does not depend on it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_core::definition::Definition;
use plumbline_core::{Ledger, PluginName};
use plumbline_telemetry::otlp::{Batch, ExportError, Exporter};
use tokio::sync::mpsc;

use super::begin::Run;
use crate::spans::{MAX_TESTS, RunTrace, TestSpans};
use crate::state::State;

/// Maximum time of the export.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum time of the export of an interrupted run, which must end soon.
const INTERRUPTED: Duration = Duration::from_secs(5);

impl Run {
    /// Returns the definition of a plugin with the trace context in its environment, if the run is a
    /// part of a trace.
    pub(super) fn traced(&self, definition: &Arc<Definition>) -> Arc<Definition> {
        let own = self.trace().map(|trace| trace.context(&definition.name));
        let context = own.or_else(|| self.settings.telemetry.parent.clone());
        let Some(context) = context else { return Arc::clone(definition) };
        let spec = context
            .variables()
            .into_iter()
            .fold(definition.spec.clone(), |spec, (name, value)| spec.with_variable(name, &value, &[]));
        Arc::new(Definition { spec, ..definition.as_ref().clone() })
    }

    /// Returns the trace of the run, if its spans are exported.
    pub(super) fn trace(&self) -> Option<RunTrace> {
        let trace = RunTrace::new(self.record.run, self.settings.telemetry.parent.clone());
        let exported = self.exporter.as_ref().is_some_and(|exporter| exporter.has_traces());
        (exported && trace.is_sampled()).then_some(trace)
    }
}

/// Exports the trace of a finished run. `tree` is the content of its archive. Failures are logged.
pub(super) async fn export(exporter: &Exporter, trace: &RunTrace, state: &State, started: Timestamp, tree: &Path) {
    let limit = if state.read(Ledger::is_interrupted) { INTERRUPTED } else { LIMIT };
    let exported = tokio::time::timeout(limit, send(exporter, trace, state, started, tree)).await;
    match exported {
        Ok(Ok(tests)) => tracing::info!(tests, "exported the trace of the run"),
        Ok(Err(error)) => tracing::warn!("the trace is incomplete: {error}"),
        Err(_) => tracing::warn!("the trace is incomplete: the export took longer than {} s", limit.as_secs()),
    }
}

/// Error of an export.
#[derive(Debug, thiserror::Error)]
enum TraceError {
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("failed to read the result trees: {0}")]
    Read(#[from] io::Error),
}

/// Sends all spans, and returns the number of tests.
async fn send(
    exporter: &Exporter,
    trace: &RunTrace,
    state: &State,
    started: Timestamp,
    tree: &Path,
) -> Result<usize, TraceError> {
    let spans = state.read(|ledger| trace.summary(ledger, started, state.now()));
    let mut batch = Batch::default();
    for span in spans {
        if batch.push(span) {
            exporter.send_spans(std::mem::take(&mut batch)).await?;
        }
    }
    exporter.send_spans(batch).await?;

    // One thread reads the trees. It waits for the export, so only a few batches are in memory.
    let (batches, mut received) = mpsc::channel(1);
    let (trace, state, tree) = (trace.clone(), state.clone(), tree.to_owned());
    let reading = tokio::task::spawn_blocking(move || read_tests(&trace, &state, &tree, &batches));
    while let Some(batch) = received.recv().await {
        exporter.send_spans(batch).await?;
    }
    Ok(reading.await.map_err(io::Error::other)??)
}

/// Reads the trees of all plugins, first for failed tests and then for others.
fn read_tests(trace: &RunTrace, state: &State, tree: &Path, batches: &mpsc::Sender<Batch>) -> io::Result<usize> {
    let plugins: Vec<PluginName> = state.read(|ledger| ledger.plugins().cloned().collect());
    let mut count = 0;
    for failed in [true, false] {
        for plugin in &plugins {
            let Some(tests) = state.read(|ledger| TestSpans::new(trace, ledger, plugin, tree)) else { continue };
            let send = |batch| batches.blocking_send(batch).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
            count += tests.each_batch(failed, MAX_TESTS - count, send)?;
        }
    }
    Ok(count)
}
