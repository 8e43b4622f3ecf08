//! Reads the status of a run once.

use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::Api;
use kube::api::ListParams;
use plumbline_core::Verdict;
use plumbline_core::run_status::{RunPhase, RunStatus};

use super::error::StatusError;
use super::seen::{Seen, Waiting, how_it_ended};
use crate::aggregator_pod::find;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::pod_view::{ContainerView, PodObject, PodView, Role, pod_api};

/// Maximum number of events to show. The last ones explain the current state.
const MAX_EVENTS: usize = 5;
/// Number of events to request. A pod has only a few kinds of them.
const ASKED_EVENTS: u32 = 100;
/// Maximum number of plugin pods to inspect, in one request. Further ones are skipped, because a
/// person reads only a few.
const MAX_PODS: u32 = 500;

/// Returns the status of the run in `namespace`, and what its plugin pods wait for.
///
/// # Errors
/// Returns a variant of [`StatusError`] for each reason why there is no status.
pub async fn read(cluster: &Cluster, namespace: &str) -> Result<Seen, StatusError> {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    match namespaces.get_opt(namespace).await {
        Ok(Some(_)) => {}
        Ok(None) => return Err(StatusError::NoNamespace { namespace: namespace.to_owned() }),
        Err(error) => {
            let error = ClusterError::api(format!("look for namespace `{namespace}`"), &error);
            // An account for a single namespace may be unable to read the namespace object.
            if !error.is_forbidden() {
                return Err(error.into());
            }
        }
    }
    let pods = pod_api(cluster, namespace);
    let Some(pod) = find(&pods, namespace).await? else {
        return Err(StatusError::NoPod { namespace: namespace.to_owned() });
    };
    match look(namespace, &pod, pod.run_status.as_deref().map(parse)) {
        Ok(mut seen) => {
            if !seen.is_over() {
                seen.waiting = waiting(&pods).await;
            }
            Ok(seen)
        }
        Err(error) => Err(with_events(cluster, namespace, error).await),
    }
}

/// Returns what plugin pods wait for. If the account may not list them, the status is shown without
/// this.
async fn waiting(pods: &Api<PodObject>) -> Vec<Waiting> {
    let selector = format!("{}={}", names::ROLE_LABEL, names::PLUGIN);
    match pods.list(&ListParams::default().labels(&selector).limit(MAX_PODS)).await {
        Ok(list) => sorted(list.items.into_iter().filter_map(|pod| Waiting::of(&PodView::from(pod))).collect()),
        Err(error) => {
            tracing::warn!("{}", ClusterError::api("look at the pods of plugins", &error));
            Vec::new()
        }
    }
}

pub(super) fn sorted(mut waiting: Vec<Waiting>) -> Vec<Waiting> {
    waiting.sort_by(|a, b| (&a.plugin, &a.node, &a.pod).cmp(&(&b.plugin, &b.node, &b.pod)));
    waiting
}

/// Adds the last events to the error for a pod that does not start.
pub(super) async fn with_events(cluster: &Cluster, namespace: &str, mut error: StatusError) -> StatusError {
    if let StatusError::Pending { pod, events, .. } = &mut error {
        let api: Api<Event> = Api::namespaced(cluster.client(), namespace);
        let selector = format!("involvedObject.kind=Pod,involvedObject.name={pod}");
        match api.list(&ListParams::default().fields(&selector).limit(ASKED_EVENTS)).await {
            Ok(list) => *events = lines(list.items),
            Err(error) => tracing::debug!("{}", ClusterError::api(format!("list the events of pod `{pod}`"), &error)),
        }
    }
    error
}

/// Returns the last few events, oldest first.
fn lines(mut events: Vec<Event>) -> Vec<String> {
    let at = |event: &Event| {
        let times = [
            event.last_timestamp.as_ref().map(|time| time.0),
            event.event_time.as_ref().map(|time| time.0),
            event.metadata.creation_timestamp.as_ref().map(|time| time.0),
        ];
        times.into_iter().flatten().next()
    };
    events.sort_by_key(at);
    let skipped = events.len().saturating_sub(MAX_EVENTS);
    let line = |event: &Event| {
        let message = event.message.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        format!("{}: {message}", event.reason.as_deref().unwrap_or("Event"))
    };
    events.iter().skip(skipped).map(line).collect()
}

pub(super) fn parse(text: &str) -> Result<RunStatus, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns the state of the run according to the pod. `status` is its parsed annotation.
pub(super) fn look(
    namespace: &str,
    pod: &PodView,
    status: Option<Result<RunStatus, String>>,
) -> Result<Seen, StatusError> {
    let (namespace, name) = (namespace.to_owned(), pod.name.clone());
    let seen = |status: RunStatus| Seen {
        namespace: namespace.clone(),
        pod: name.clone(),
        status,
        began: pod.created,
        restarts: restarts(pod),
        waiting: Vec::new(),
    };
    let failed = |why: String, status: Option<Result<RunStatus, String>>| StatusError::PodFailed {
        why,
        last: status.and_then(Result::ok).map(|status| Box::new(seen(status))),
        namespace: namespace.clone(),
        pod: name.clone(),
    };
    let waiting = Waiting::of(pod).map(Box::new);
    match (pod.phase.as_str(), status) {
        ("Failed", Some(Ok(status))) if ended_with_verdict(pod, &status) => Ok(seen(status)),
        ("Failed", status) => {
            let why = own_words(status.as_ref()).unwrap_or_else(|| why_it_ended(pod));
            Err(failed(why, status))
        }
        ("Unknown", status) => Err(StatusError::PodUnknown {
            node: pod.node.clone().unwrap_or_default(),
            last: status.and_then(Result::ok).map(|status| Box::new(seen(status))),
            pod: name,
        }),
        // The container ended successfully, which it does only after the run. The status may say
        // otherwise.
        ("Succeeded", Some(Ok(status))) if matches!(status.status, RunPhase::Complete | RunPhase::Failed) => {
            Ok(seen(status))
        }
        ("Succeeded", status) => Err(failed("its container ended before the run was complete".to_owned(), status)),
        ("Running", Some(Ok(status))) => Ok(seen(status)),
        ("Running", Some(Err(cause))) => Err(StatusError::Damaged { pod: name, cause }),
        ("Running", None) => Err(StatusError::NoAnnotation { waiting, namespace, pod: name }),
        _ => Err(StatusError::Pending { waiting, events: Vec::new(), namespace, pod: name }),
    }
}

/// Returns whether the aggregator of a scheduled run ended with the exit code of the verdict on this
/// complete run, other than passed.
///
/// Otherwise something else happened after the run was complete: its archive was not uploaded, or
/// the pod was evicted. Then the status does not count.
fn ended_with_verdict(pod: &PodView, status: &RunStatus) -> bool {
    let code = i64::from(Verdict::from_run(status).exit_code());
    let end = pod.container(names::AGGREGATOR_CONTAINER).and_then(ContainerView::ended);
    status.status == RunPhase::Complete && code != 0 && end.is_some_and(|end| end.code == code)
}

/// Returns why the run failed, if the aggregator reported it before it ended. The exit of the
/// process says less.
fn own_words(status: Option<&Result<RunStatus, String>>) -> Option<String> {
    let status = status?.as_ref().ok().filter(|status| status.status == RunPhase::Failed)?;
    status.failure.as_ref().map(|failure| failure.reason.clone())
}

fn restarts(pod: &PodView) -> u32 {
    let main = pod.containers.iter().filter(|container| container.role == Role::Main);
    main.map(|container| u32::try_from(container.restarts).unwrap_or(u32::MAX)).fold(0, u32::saturating_add)
}

/// Returns why the pod ended: its reason and message, or else how its first ended container exited.
fn why_it_ended(pod: &PodView) -> String {
    let of_pod: Vec<&str> = [pod.reason.as_deref(), pod.message.as_deref()].into_iter().flatten().collect();
    if !of_pod.is_empty() {
        return of_pod.join(": ");
    }
    let main = pod.containers.iter().filter(|container| container.role == Role::Main);
    let mut ended = main.filter_map(|container| Some((container, container.ended()?)));
    ended.next().map_or_else(
        || "Kubernetes reports no reason".to_owned(),
        |(container, end)| format!("container `{}` {}", container.name, how_it_ended(end)),
    )
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
