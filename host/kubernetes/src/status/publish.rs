//! Writes the status onto the aggregator's own pod, as long as the run lasts and once more at its end.

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

use super::complaints::{Complaints, within};
use super::options::PublishOptions;
use super::{full, workers};
use crate::error::ClusterError;
use crate::names;

/// Bytes that the status may have: 100 KiB. It stands under two keys, and all annotations of an object may have 256 KiB together.
pub const LIMIT_BYTES: usize = 100 << 10;
/// The first pause after a failed write; it doubles up to [`Pace::heartbeat`](super::Pace::heartbeat).
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// Writes the status at once, on every change and as a heartbeat until `stop` is cancelled, and on the pods of plugins what their
/// worker was heard of last. Trouble is logged and never ends it.
///
/// The last status is written by [`publish_last`], after this has returned: two writers would take turns in being the last. A run that is
/// complete is therefore told as one whose results are being packed: there may be more to do, such as sending its archive away, and
/// whoever waits for the end may remove the run as soon as it is told.
pub async fn publish(options: PublishOptions, state: State, stop: CancellationToken) {
    let workers = workers::annotate(&options, &state, &stop);
    let status = on_change(&options, &state, &stop);
    tokio::join!(status, workers);
}

/// Writes that the run is being prepared, at once and as a heartbeat until `stop` is cancelled: before there is a plan to tell anything of,
/// an aggregator that fetches bundles for minutes is still told from a dead one. Trouble is logged and never ends it.
pub async fn publish_preparing(options: &PublishOptions, stop: &CancellationToken) {
    let mut complaints = Complaints::default();
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
            // Either way it is time to write again.
            let _ = tokio::time::timeout(rest, changes.changed()).await;
        });
        if waited.await.is_none() {
            return;
        }
    }
}

/// What is told of a run as long as its end is not.
fn not_over(status: RunStatus) -> RunStatus {
    match status.status {
        RunPhase::Complete => RunStatus { status: RunPhase::PostProcessing, tar_info: TarInfo::default(), ..status },
        _ => status,
    }
}

struct Writer<'a> {
    options: &'a PublishOptions,
    complaints: Complaints,
    full_complaints: Complaints,
    /// Less than [`LIMIT_BYTES`] once the server has refused that much: other annotations take room too.
    limit: usize,
    full_at: Option<Instant>,
}

impl<'a> Writer<'a> {
    fn new(options: &'a PublishOptions) -> Self {
        Self {
            options,
            complaints: Complaints::default(),
            full_complaints: Complaints::default(),
            limit: LIMIT_BYTES,
            full_at: None,
        }
    }

    /// Writes `status`; whether it arrived.
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

/// Writes the annotations, once; if they are too large for the server, again with a quarter of the size, and remembers that.
async fn annotate(options: &PublishOptions, status: &RunStatus, limit: &mut usize) -> Result<Level, ClusterError> {
    let status = RunStatus { run: Some(options.run.to_string()), ..status.clone() };
    loop {
        let Compacted { json, level } = compact(&status, Timestamp::now(), *limit);
        match patch(options, &json).await {
            // 422: the annotations are too large, taken together; 413: the request is.
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
    // The answer's metadata would do, but the server sends what it likes: the whole pod is small enough.
    within(options.pace.attempt, &what, api.patch_metadata(&options.pod, &PatchParams::default(), &patch))
        .await
        .map(|_| ())
}

/// Writes the final status: retries for [`Pace::last`](super::Pace::last). The full status follows where it is needed.
///
/// # Errors
/// When the status did not arrive in that time, or the pod is gone. (That the status in full did not arrive is only logged.)
pub async fn publish_last(options: &PublishOptions, status: RunStatus) -> Result<(), ClusterError> {
    let backoff = ExponentialBuilder::default()
        .with_min_delay(FIRST_BACKOFF.min(options.pace.heartbeat))
        .with_max_delay(options.pace.heartbeat)
        .with_total_delay(Some(options.pace.last))
        .without_max_times()
        .with_jitter();
    let mut complaints = Complaints::default();
    let attempt = || async {
        let mut limit = LIMIT_BYTES;
        annotate(options, &status, &mut limit).await
    };
    let level = attempt
        .retry(backoff)
        // A pod that is gone does not come back under the same name; everything else may get better, permissions too.
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
