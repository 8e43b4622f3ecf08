//! Reads the status of a run once.

use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::Api;
use kube::api::ListParams;

use super::error::StatusError;
use super::pod::{look, parse};
use super::seen::Seen;
use super::waiting::Waiting;
use crate::aggregator_pod::find;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names;
use crate::pod_view::{PodObject, PodView, pod_api};

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

/// Sorts by plugin and node.
pub(super) fn sorted(mut waiting: Vec<Waiting>) -> Vec<Waiting> {
    waiting.sort_by(|a, b| (&a.plugin, &a.node, &a.pod).cmp(&(&b.plugin, &b.node, &b.pod)));
    waiting
}

/// Adds the last events to the error for a pod that does not start.
pub(super) async fn with_events(cluster: &Cluster, namespace: &str, error: StatusError) -> StatusError {
    match error {
        StatusError::Pending { pod, namespace: of, waiting, .. } => {
            let events = events(cluster, namespace, &pod).await;
            StatusError::Pending { pod, namespace: of, waiting, events }
        }
        other => other,
    }
}

async fn events(cluster: &Cluster, namespace: &str, pod: &str) -> Vec<String> {
    let api: Api<Event> = Api::namespaced(cluster.client(), namespace);
    let selector = format!("involvedObject.kind=Pod,involvedObject.name={pod}");
    match api.list(&ListParams::default().fields(&selector).limit(ASKED_EVENTS)).await {
        Ok(list) => lines(list.items),
        Err(error) => {
            tracing::debug!("{}", ClusterError::api(format!("list the events of pod `{pod}`"), &error));
            Vec::new()
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_events_are_told_in_their_order() {
        let event = |n: u32, time: serde_json::Value| {
            let mut event =
                json!({"metadata": {}, "involvedObject": {}, "reason": format!("R{n}"), "message": "a\n b"});
            event.as_object_mut().unwrap().extend(time.as_object().unwrap().clone());
            serde_json::from_value::<Event>(event).unwrap()
        };
        let mut all: Vec<_> =
            (1..7).map(|n| event(n, json!({"lastTimestamp": format!("2026-11-20T13:0{n}:00Z")}))).collect();
        all.push(event(9, json!({"eventTime": "2026-11-20T13:03:30.000000Z"})));
        all.push(event(0, json!({})));
        assert_eq!(lines(all), ["R3: a b", "R9: a b", "R4: a b", "R5: a b", "R6: a b"]);
    }
}
