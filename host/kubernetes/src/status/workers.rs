//! Annotates the pods of plugins with the last known state of their worker.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use plumbline_aggregator::State;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::complaints::{FailureLog, within};
use super::options::PublishOptions;
use super::words::{Index, WorkerStatus, index};
use crate::error::ClusterError;
use crate::names;

/// Number of pods to annotate between two reads of the ledger. Each read passes over all results.
const BATCH: usize = 5;

/// Annotates pods until `stop` is cancelled. Failures are logged and never end this, unless the
/// account lacks permission.
pub(super) async fn annotate(options: &PublishOptions, state: &State, stop: &CancellationToken) {
    stop.run_until_cancelled(work(options, state)).await;
}

async fn work(options: &PublishOptions, state: &State) {
    let api: Api<Pod> = Api::namespaced(options.cluster.client(), &options.namespace);
    let mut complaints = FailureLog::default();
    let mut tick =
        tokio::time::interval((options.pace.worker * u32::try_from(BATCH).unwrap_or(1)).max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let index = state.read(index);
        if !write_some(options, &api, &index, &mut complaints).await {
            return;
        }
    }
}

/// Writes the next few annotations. Returns false if it is pointless to continue.
async fn write_some(options: &PublishOptions, api: &Api<Pod>, index: &Index, complaints: &mut FailureLog) -> bool {
    let due = options.workers.lock().due(index, options.pace.worker_refresh, Instant::now(), BATCH);
    for (name, known) in due {
        let next = Instant::now() + options.pace.worker;
        match write(options, api, &name, known).await {
            Ok(()) => {
                complaints.succeeded("annotating the pods of plugins");
                options.workers.lock().wrote(&name, known, Instant::now());
            }
            Err(error) if error.is_not_found() => options.workers.lock().remove(&name),
            Err(error) => {
                complaints.failed(&error, "the pods of plugins do not say how they are; the run continues");
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

async fn write(options: &PublishOptions, api: &Api<Pod>, name: &str, known: WorkerStatus) -> Result<(), ClusterError> {
    let what = format!("annotate pod `{name}`");
    let patch = Patch::Merge(json!({"metadata": {"annotations": {names::WORKER_STATUS_ANNOTATION: known.to_json()}}}));
    within(options.pace.attempt, &what, api.patch_metadata(name, &PatchParams::default(), &patch)).await.map(|_| ())
}
