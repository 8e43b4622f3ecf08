//! Writes the status on the aggregator's own pod, during the run and once more at its end.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use plumbline_aggregator::State;
use plumbline_core::compact::{Compacted, Level, MIN_LIMIT, compact};
use plumbline_core::run_status::{RunPhase, RunStatus, TarInfo};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::complaints::{FailureLog, within};
use super::options::PublishOptions;
use super::{full, workers};
use crate::error::ClusterError;
use crate::names;

/// Maximum size of the status: 100 KiB. It is stored under two keys, and all annotations of an
/// object may have 256 KiB together.
pub const LIMIT_BYTES: usize = 100 << 10;
/// The first delay after a failed write. It doubles up to
/// [`Pace::heartbeat`](super::Pace::heartbeat).
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// Writes the status at once, on every change, and as a heartbeat until `stop` is cancelled. Also
/// annotates the pods of plugins with the last heartbeat of their worker.
///
/// Failures are logged and never end this.
///
/// [`publish_last`] writes the last status after this has returned, because two concurrent writers
/// could end in the wrong order. Until then, a complete run is published as one whose results are
/// being packed. There may be more to do, such as uploading its archive, and a client that waits
/// for the end may delete the run at once.
pub async fn publish(options: PublishOptions, state: State, stop: CancellationToken) {
    let workers = workers::annotate(&options, &state, &stop);
    let status = on_change(&options, &state, &stop);
    tokio::join!(status, workers);
}

/// Publishes that the run is being prepared, at once and as a heartbeat until `stop` is cancelled.
///
/// An aggregator may download bundles for minutes before it has a plan. This distinguishes it from
/// a dead one. Failures are logged and never end this.
pub async fn publish_preparing(options: &PublishOptions, stop: &CancellationToken) {
    let mut complaints = FailureLog::default();
    let mut limit = LIMIT_BYTES;
    loop {
        let status = RunStatus::default();
        let Some(written) = stop.run_until_cancelled(annotate(options, &status, &mut limit)).await else { return };
        match written {
            Ok(_) => drop(complaints.succeeded("writing the status")),
            Err(error) => drop(complaints.failed(&error, "whoever looks at the run sees no status until that works")),
        }
        if stop.run_until_cancelled(tokio::time::sleep(options.pace.heartbeat)).await.is_none() {
            return;
        }
    }
}

async fn on_change(options: &PublishOptions, state: &State, stop: &CancellationToken) {
    let mut changes = state.changes();
    let mut writer = Writer::new(options);
    let mut backoff = FIRST_BACKOFF;
    loop {
        changes.mark_unchanged();
        let Some(written) = stop.run_until_cancelled(writer.write(not_over(state.status()))).await else { return };
        let (pause, rest) = if written {
            backoff = FIRST_BACKOFF;
            (options.pace.pause, options.pace.heartbeat.saturating_sub(options.pace.pause))
        } else {
            let pause = backoff.max(options.pace.pause).min(options.pace.heartbeat);
            backoff = backoff.saturating_mul(2);
            (pause, Duration::ZERO)
        };
        let waited = stop.run_until_cancelled(async {
            tokio::time::sleep(pause).await;
            // In both cases it is time to write again.
            let _ = tokio::time::timeout(rest, changes.changed()).await;
        });
        if waited.await.is_none() {
            return;
        }
    }
}

/// Returns the status to publish while the end of the run is still held back.
fn not_over(status: RunStatus) -> RunStatus {
    match status.status {
        RunPhase::Complete => RunStatus { status: RunPhase::PostProcessing, tar_info: TarInfo::default(), ..status },
        _ => status,
    }
}

struct Writer<'a> {
    options: &'a PublishOptions,
    complaints: FailureLog,
    full_complaints: FailureLog,
    /// The current size limit. It is less than [`LIMIT_BYTES`] once the server has rejected that
    /// much, because other annotations take space too.
    limit: usize,
    full_at: Option<Instant>,
}

impl<'a> Writer<'a> {
    fn new(options: &'a PublishOptions) -> Self {
        Self {
            options,
            complaints: FailureLog::default(),
            full_complaints: FailureLog::default(),
            limit: LIMIT_BYTES,
            full_at: None,
        }
    }

    /// Writes `status`, and returns true on success.
    async fn write(&mut self, status: RunStatus) -> bool {
        match annotate(self.options, &status, &mut self.limit).await {
            Ok(level) => {
                self.complaints.succeeded("writing the status");
                if level > Level::Full && self.full_at.is_none_or(|at| at.elapsed() >= self.options.pace.full) {
                    self.full_at = Some(Instant::now());
                    self.write_full(status).await;
                }
                true
            }
            Err(error) => {
                self.complaints.failed(&error, "whoever looks at the run sees an old status until that works");
                false
            }
        }
    }

    async fn write_full(&mut self, status: RunStatus) {
        match full::write(self.options, stamped(self.options, status)).await {
            Ok(()) => {
                self.full_complaints.succeeded("writing the status in full");
            }
            Err(error) => {
                self.full_complaints.failed(&error, "the annotation holds a summary");
            }
        }
    }
}

fn stamped(options: &PublishOptions, status: RunStatus) -> RunStatus {
    RunStatus { run: Some(options.run.to_string()), heartbeat: Some(Timestamp::now()), ..status }
}

/// Writes the annotations. If the server rejects them as too large, retries with a quarter of the
/// size, and remembers that limit.
async fn annotate(options: &PublishOptions, status: &RunStatus, limit: &mut usize) -> Result<Level, ClusterError> {
    let status = RunStatus { run: Some(options.run.to_string()), ..status.clone() };
    loop {
        let Compacted { json, level } = compact(&status, Timestamp::now(), *limit);
        match patch(options, &json).await {
            // 422 means that all annotations together are too large, and 413 that the request is.
            Err(error) if matches!(error.code, Some(413 | 422)) && *limit > MIN_LIMIT => {
                *limit = (*limit / 4).max(MIN_LIMIT);
                tracing::warn!("{error}: the status is cut to {} KiB", *limit >> 10);
            }
            other => return other.map(|()| level),
        }
    }
}

async fn patch(options: &PublishOptions, json: &str) -> Result<(), ClusterError> {
    let what = format!("write the status onto pod `{}`", options.pod);
    let annotations = json!({names::STATUS_ANNOTATION: json, names::STATUS_ANNOTATION_ALIAS: json});
    let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
    let api: Api<Pod> = Api::namespaced(options.cluster.client(), &options.namespace);
    // The metadata of the response would be enough, but the server decides what it sends. The whole
    // pod is small enough.
    within(options.pace.attempt, &what, api.patch_metadata(&options.pod, &PatchParams::default(), &patch))
        .await
        .map(|_| ())
}

/// Writes the final status, with retries for [`Pace::last`](super::Pace::last). The full status
/// follows if it is needed.
///
/// # Errors
/// Returns an error if the status could not be written in that time, or if the pod is gone. A
/// failure to write the full status is only logged.
pub async fn publish_last(options: &PublishOptions, status: RunStatus) -> Result<(), ClusterError> {
    let backoff = ExponentialBuilder::default()
        .with_min_delay(FIRST_BACKOFF.min(options.pace.heartbeat))
        .with_max_delay(options.pace.heartbeat)
        .with_total_delay(Some(options.pace.last))
        .without_max_times()
        .with_jitter();
    let mut complaints = FailureLog::default();
    let attempt = || async {
        let mut limit = LIMIT_BYTES;
        annotate(options, &status, &mut limit).await
    };
    let level = attempt
        .retry(backoff)
        // A pod that is gone does not come back under the same name. Everything else may recover,
        // including permissions.
        .when(|error| !error.is_not_found())
        .notify(|error, _| {
            complaints.failed(error, "it is tried again, because it is the last status of the run");
        })
        .await?;
    if level > Level::Full {
        let attempt = || full::write(options, stamped(options, status.clone()));
        let written = attempt.retry(backoff.with_max_times(5)).when(ClusterError::is_transient).await;
        if let Err(error) = written {
            tracing::warn!("{error}: the annotation holds a summary");
        }
    }
    Ok(())
}
