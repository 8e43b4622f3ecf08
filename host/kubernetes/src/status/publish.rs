//! Writes the status on the aggregator's own pod, during the run and once more at its end.

use std::collections::BTreeSet;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use plumbline_aggregator::State;
use plumbline_core::RunId;
use plumbline_core::compact::{Compacted, Level, MIN_LIMIT, compact};
use plumbline_core::run_status::{RunFailure, RunPhase, RunStatus, TarInfo};
use serde_json::json;
use tokio::sync::watch as latest;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::full::config_map;
use super::worker_pods::{WorkerPods, WorkerStatus};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;

/// The destination of the status.
#[derive(Clone)]
pub struct PublishOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// The aggregator's own pod.
    pub pod: String,
    /// The ID of the run.
    pub run: RunId,
    /// The owner of the ConfigMap with the full status: the aggregator's pod, so that both are
    /// deleted together.
    pub owner: Option<OwnerReference>,
    /// The pods of plugins that the run's monitor sees.
    pub workers: WorkerPods,
    /// The write intervals.
    pub pace: Pace,
}

/// The write intervals of the status. The defaults are for clusters, and tests use shorter ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Minimum interval between writes of the status: 1 s, and as much again for each 32 KiB that it
    /// has. A busy plugin's progress would otherwise cause hundreds of requests per second.
    pub pause: Duration,
    /// Maximum interval between writes of the status: 15 s, so that readers can tell a dead
    /// aggregator from an idle one.
    pub heartbeat: Duration,
    /// Minimum interval between writes of the full status: 60 s, because it is large.
    pub full: Duration,
    /// Timeout of one request: 10 s. A slower request is retried.
    pub attempt: Duration,
    /// How long the last status is retried: 2 min. This is the one that must arrive.
    pub last: Duration,
    /// Minimum interval between annotations on pods of plugins: 200 ms, so that 5,000 nodes do not
    /// overload the API server.
    pub worker: Duration,
    /// Interval between annotations on the same pod if only the time of the last heartbeat changes:
    /// 5 min, and up to a minute more.
    pub worker_refresh: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pause: Duration::from_secs(1),
            heartbeat: Duration::from_secs(15),
            full: Duration::from_secs(60),
            attempt: Duration::from_secs(10),
            last: Duration::from_secs(120),
            worker: Duration::from_millis(200),
            worker_refresh: Duration::from_secs(300),
        }
    }
}

impl Pace {
    /// Returns the pause after a status of this size.
    fn pause_after(&self, bytes: usize) -> Duration {
        let times = u32::try_from(1 + bytes / PAUSE_BYTES).unwrap_or(u32::MAX);
        self.pause.saturating_mul(times).min(self.heartbeat)
    }
}

/// The size of a status after which the pause is twice as long: 32 KiB. The API server stores the whole
/// pod with each write, and sends it to everyone who watches it.
const PAUSE_BYTES: usize = 32 << 10;
/// Maximum size of the status: 100 KiB. It is stored under two keys, and all annotations of an
/// object may have 256 KiB together.
pub const LIMIT_BYTES: usize = 100 << 10;
/// The first delay after a failed write. It doubles up to [`Pace::heartbeat`].
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
    let workers = stop.run_until_cancelled(annotate_workers(&options, &state));
    tokio::join!(on_change(&options, &state, &stop), workers);
}

/// Publishes that the run is being prepared, at once and as a heartbeat until `stop` is cancelled.
///
/// An aggregator may download bundles for minutes before it has a plan. This distinguishes it from
/// a dead one. Failures are logged and never end this.
pub async fn publish_preparing(options: &PublishOptions, stop: &CancellationToken) {
    let mut failures = FailureLog::default();
    let mut limit = LIMIT_BYTES;
    loop {
        let status = RunStatus { run: Some(options.run.to_string()), ..RunStatus::default() };
        let Some(written) = stop.run_until_cancelled(annotate(options, &status, &mut limit)).await else { return };
        match written {
            Ok(_) => failures.succeeded("writing the status"),
            Err(error) => failures.failed(&error, "until this succeeds, users see no status of the run"),
        }
        if stop.run_until_cancelled(tokio::time::sleep(options.pace.heartbeat)).await.is_none() {
            return;
        }
    }
}

/// Publishes what delays the start of a run, on every change and as a heartbeat until `stop` is
/// cancelled. Nothing is published before there is a `delay`.
///
/// `known` is the last status of a run that continues. Failures are logged and never end this.
pub async fn publish_delay(
    options: &PublishOptions,
    known: RunStatus,
    delay: latest::Receiver<Option<RunFailure>>,
    stop: &CancellationToken,
) {
    stop.run_until_cancelled(on_delay(options, known, delay)).await;
}

async fn on_delay(options: &PublishOptions, known: RunStatus, mut delay: latest::Receiver<Option<RunFailure>>) {
    let known = RunStatus { run: Some(options.run.to_string()), ..not_over(known) };
    let mut failures = FailureLog::default();
    let mut limit = LIMIT_BYTES;
    if delay.wait_for(Option::is_some).await.is_err() {
        return;
    }
    loop {
        let failure = delay.borrow_and_update().clone();
        let status = RunStatus { failure, ..known.clone() };
        match annotate(options, &status, &mut limit).await {
            Ok(_) => failures.succeeded("writing the status"),
            Err(error) => failures.failed(&error, "until this succeeds, users see an old status of the run"),
        }
        let changed = tokio::time::timeout(options.pace.heartbeat, delay.changed()).await;
        if changed.is_ok_and(|changed| changed.is_err()) {
            return;
        }
    }
}

async fn on_change(options: &PublishOptions, state: &State, stop: &CancellationToken) {
    let mut changes = state.changes();
    let (failures, full_failures) = (FailureLog::default(), FailureLog::default());
    let mut writer = Writer { options, failures, full_failures, limit: LIMIT_BYTES, full_at: None };
    let mut backoff = FIRST_BACKOFF;
    loop {
        changes.mark_unchanged();
        let status = RunStatus { run: Some(options.run.to_string()), ..not_over(state.status()) };
        let Some(written) = stop.run_until_cancelled(writer.write(status)).await else { return };
        let (pause, rest) = if let Some(bytes) = written {
            backoff = FIRST_BACKOFF;
            let pause = options.pace.pause_after(bytes);
            (pause, options.pace.heartbeat.saturating_sub(pause))
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
    failures: FailureLog,
    full_failures: FailureLog,
    /// The current size limit. It is less than [`LIMIT_BYTES`] once the server has rejected that
    /// much, because other annotations take space too.
    limit: usize,
    full_at: Option<Instant>,
}

impl Writer<'_> {
    /// Writes `status`, and returns the number of bytes in the annotation on success.
    async fn write(&mut self, status: RunStatus) -> Option<usize> {
        match annotate(self.options, &status, &mut self.limit).await {
            Ok((level, bytes)) => {
                self.failures.succeeded("writing the status");
                if level > Level::Full && self.full_at.is_none_or(|at| at.elapsed() >= self.options.pace.full) {
                    self.full_at = Some(Instant::now());
                    match write_full(self.options, status).await {
                        Ok(()) => self.full_failures.succeeded("writing the status in full"),
                        Err(error) => self.full_failures.failed(&error, "the annotation holds a summary"),
                    }
                }
                Some(bytes)
            }
            Err(error) => {
                self.failures.failed(&error, "until this succeeds, users see an old status of the run");
                None
            }
        }
    }
}

async fn write_full(options: &PublishOptions, status: RunStatus) -> Result<(), ClusterError> {
    let name = names::STATUS_CONFIG_MAP;
    let what = format!("write the status in full to ConfigMap `{name}`");
    let status = RunStatus { heartbeat: Some(Timestamp::now()), ..status };
    let owner = options.owner.clone();
    // Threads that serve workers must not wait for the compression.
    let map = tokio::task::spawn_blocking(move || config_map(&status, owner)).await;
    let failed = |cause: String| ClusterError::new(&what, cause);
    let map = map.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
    let api: Api<ConfigMap> = Api::namespaced(options.cluster.client(), &options.namespace);
    let (patch, parameters) = (Patch::Merge(&map), PatchParams::default());
    match within(options.pace.attempt, &what, api.patch(name, &parameters, &patch)).await {
        Err(error) if error.is_not_found() => {
            within(options.pace.attempt, &what, api.create(&PostParams::default(), &map)).await.map(|_| ())
        }
        other => other.map(|_| ()),
    }
}

/// Writes the annotations. If the server rejects them as too large, retries with a quarter of the
/// size, and remembers that limit. Returns how much of the status was left out, and the number of
/// bytes in each annotation.
async fn annotate(
    options: &PublishOptions,
    status: &RunStatus,
    limit: &mut usize,
) -> Result<(Level, usize), ClusterError> {
    loop {
        let Compacted { json, level } = compact(status, Timestamp::now(), *limit);
        match patch(options, &json).await {
            // 422 means that all annotations together are too large, and 413 that the request is.
            Err(error) if matches!(error.code, Some(413 | 422)) && *limit > MIN_LIMIT => {
                *limit = (*limit / 4).max(MIN_LIMIT);
                tracing::warn!("{error}: the status is truncated to {} KiB", *limit >> 10);
            }
            other => return other.map(|()| (level, json.len())),
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

/// Writes the final status, with retries for [`Pace::last`]. The full status
/// follows if it is needed.
///
/// # Errors
/// Returns an error if the status could not be written in that time, or if the pod is gone. A
/// failure to write the full status is only logged.
pub async fn publish_last(options: &PublishOptions, status: RunStatus) -> Result<(), ClusterError> {
    let status = RunStatus { run: Some(options.run.to_string()), ..status };
    let backoff = ExponentialBuilder::default()
        .with_min_delay(FIRST_BACKOFF.min(options.pace.heartbeat))
        .with_max_delay(options.pace.heartbeat)
        .with_total_delay(Some(options.pace.last))
        .without_max_times()
        .with_jitter();
    let mut failures = FailureLog::default();
    let attempt = || async {
        let mut limit = LIMIT_BYTES;
        annotate(options, &status, &mut limit).await
    };
    let (level, _) = attempt
        .retry(backoff)
        // A pod that is gone does not come back under the same name. Everything else may recover,
        // including permissions.
        .when(|error| !error.is_not_found())
        .notify(|error, _| failures.failed(error, "it is retried, because it is the last status of the run"))
        .await?;
    if level > Level::Full {
        let attempt = || write_full(options, status.clone());
        let written = attempt.retry(backoff.with_max_times(5)).when(ClusterError::is_transient).await;
        if let Err(error) = written {
            tracing::warn!("{error}: the annotation holds a summary");
        }
    }
    Ok(())
}

/// Number of pods to annotate between two reads of the ledger. Each read passes over all pods.
const BATCH: usize = 5;

/// Annotates pods. Failures are logged and never end this, unless the account lacks permission.
async fn annotate_workers(options: &PublishOptions, state: &State) {
    let api: Api<Pod> = Api::namespaced(options.cluster.client(), &options.namespace);
    let mut failures = FailureLog::default();
    let batch = options.pace.worker * u32::try_from(BATCH).unwrap_or(1);
    let mut tick = tokio::time::interval(batch.max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let refresh = options.pace.worker_refresh;
        let due = state.read(|ledger| options.workers.lock().due(ledger, refresh, Instant::now(), BATCH));
        if !write_some(options, &api, due, &mut failures).await {
            return;
        }
    }
}

/// Writes the annotations that are due. Returns false if it is pointless to continue.
async fn write_some(
    options: &PublishOptions,
    api: &Api<Pod>,
    due: Vec<(String, WorkerStatus)>,
    failures: &mut FailureLog,
) -> bool {
    for (name, known) in due {
        let next = Instant::now() + options.pace.worker;
        match write_worker(options, api, &name, known).await {
            Ok(()) => {
                failures.succeeded("annotating the pods of plugins");
                options.workers.lock().wrote(&name, known, Instant::now());
            }
            Err(error) if error.is_not_found() => options.workers.lock().remove(&name),
            Err(error) => {
                failures.failed(&error, "the pods of plugins have no annotations with their state; the run continues");
                if error.is_forbidden() {
                    return false;
                }
                if !error.is_transient() {
                    // The error is specific to this pod, and another attempt would get it again.
                    options.workers.lock().wrote(&name, known, Instant::now());
                }
            }
        }
        tokio::time::sleep_until(next).await;
    }
    true
}

async fn write_worker(
    options: &PublishOptions,
    api: &Api<Pod>,
    name: &str,
    known: WorkerStatus,
) -> Result<(), ClusterError> {
    let what = format!("annotate pod `{name}`");
    let known = json!(known).to_string();
    let patch = Patch::Merge(json!({"metadata": {"annotations": {names::WORKER_STATUS_ANNOTATION: known}}}));
    within(options.pace.attempt, &what, api.patch_metadata(name, &PatchParams::default(), &patch)).await.map(|_| ())
}

/// Logs each kind of failure once, until it is over. Holds the failures since the last success.
#[derive(Debug, Default)]
struct FailureLog {
    reported: BTreeSet<Option<u16>>,
}

impl FailureLog {
    /// Records a failure, and logs it if its kind (the status code of the response) is new.
    fn failed(&mut self, error: &ClusterError, consequence: &str) {
        if self.reported.insert(error.code) {
            let hint = error.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
            tracing::warn!("{error}: {consequence}{hint}");
        }
    }

    /// Records a success, and logs it if there was a failure before.
    fn succeeded(&mut self, what: &str) {
        if !self.reported.is_empty() {
            tracing::info!("{what} works again");
            self.reported.clear();
        }
    }
}

/// Returns the result of `call`, or an error if it takes longer than `limit`.
async fn within<T>(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(|error| ClusterError::api(what, &error)),
        Err(_) => Err(ClusterError::new(what, format!("no answer within {limit:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_is_logged_once_until_it_is_over() {
        let error = |code| ClusterError { code, ..ClusterError::new("write", "no") };
        let mut failures = FailureLog::default();
        failures.failed(&error(Some(403)), "so");
        failures.failed(&error(Some(403)), "so");
        failures.failed(&error(None), "so");
        assert_eq!(failures.reported, BTreeSet::from([None, Some(403)]));
        failures.succeeded("it");
        assert_eq!(failures.reported, BTreeSet::new());
    }
}
