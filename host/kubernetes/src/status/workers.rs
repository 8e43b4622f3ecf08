//! Annotates the pods of plugins with what their worker was heard of last.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Pod as WholePod;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use plumbline_aggregator::State;
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::complaints::{Complaints, within};
use super::publish::PublishOptions;
use super::words::{Index, Known, Pod, Pods, index};
use crate::error::ClusterError;
use crate::names;

/// Pods that are annotated between two looks at the ledger and the watch: a look costs a pass over all results.
const BATCH: usize = 5;

/// Annotates until `stop` is cancelled. Trouble is logged and never ends it, unless the account may not do this.
pub(super) async fn annotate(options: &PublishOptions, state: &State, stop: &CancellationToken) {
    // Large, because the watcher is: not a part of every future above it.
    stop.run_until_cancelled(Box::pin(work(options, state))).await;
}

async fn work(options: &PublishOptions, state: &State) {
    let resource = ApiResource::erase::<WholePod>(&());
    let api: Api<Pod> = Api::namespaced_with(options.cluster.client(), &options.namespace, &resource);
    let config = watcher::Config::default().labels(&format!("{}={}", names::ROLE_LABEL, names::PLUGIN));
    let mut seen = pin!(watcher(api.clone(), config).default_backoff());
    let mut pods = Pods::default();
    let mut complaints = Complaints::default();
    let mut tick =
        tokio::time::interval((options.pace.worker * u32::try_from(BATCH).unwrap_or(1)).max(Duration::from_millis(1)));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = seen.next() => match event {
                Some(Ok(event)) => take(&mut pods, event),
                // The watcher waits and begins again by itself.
                Some(Err(error)) => tracing::debug!("the watch of the pods of plugins was broken off: {error}"),
                None => return,
            },
            _ = tick.tick() => {
                let index = state.read(index);
                if !write_some(options, &api, &mut pods, &index, &mut complaints).await {
                    return;
                }
            }
        }
    }
}

fn take(pods: &mut Pods, event: Event<Pod>) {
    match event {
        Event::Apply(pod) | Event::InitApply(pod) => pods.apply(&pod),
        Event::Delete(pod) => pods.remove(pod.metadata.name.as_deref().unwrap_or_default()),
        Event::Init => pods.begin_list(),
        Event::InitDone => pods.end_list(),
    }
}

/// Writes the next few; `false` when there is no use in going on.
async fn write_some(
    options: &PublishOptions,
    api: &Api<Pod>,
    pods: &mut Pods,
    index: &Index,
    complaints: &mut Complaints,
) -> bool {
    for (name, known) in pods.due(index, options.pace.worker_refresh, Instant::now(), BATCH) {
        let next = Instant::now() + options.pace.worker;
        match write(options, api, &name, known).await {
            Ok(()) => {
                complaints.succeeded("annotating the pods of plugins");
                pods.wrote(&name, known, Instant::now());
            }
            Err(error) if error.is_not_found() => pods.remove(&name),
            Err(error) => {
                complaints.failed(&error, "the pods of plugins do not say how they are; the run goes on");
                if error.is_forbidden() {
                    return false;
                }
                if !error.is_transient() {
                    // Something about this pod: nothing that the next try would not meet again.
                    pods.wrote(&name, known, Instant::now());
                }
            }
        }
        tokio::time::sleep_until(next).await;
    }
    true
}

async fn write(options: &PublishOptions, api: &Api<Pod>, name: &str, known: Known) -> Result<(), ClusterError> {
    let what = format!("annotate pod `{name}`");
    let patch = Patch::Merge(json!({"metadata": {"annotations": {names::WORKER_STATUS_ANNOTATION: known.to_json()}}}));
    within(options.pace.attempt, &what, api.patch_metadata(name, &PatchParams::default(), &patch)).await.map(|_| ())
}
