//! What the aggregator's pod says of the run.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use plumbline_core::run_status::{RunPhase, RunStatus};

use super::error::StatusError;
use super::seen::Seen;
use super::waiting::{Waiting, how_it_ended};

/// Reads an annotation.
pub(super) fn parse(text: &str) -> Result<RunStatus, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What the pod says of the run. `status` is its annotation, read.
pub(super) fn look(namespace: &str, pod: &Pod, status: Option<Result<RunStatus, String>>) -> Result<Seen, StatusError> {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let seen = |status: RunStatus| Seen {
        namespace: namespace.to_owned(),
        pod: name.clone(),
        status,
        began: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
        restarts: containers(pod).map(|container| u32::try_from(container.restart_count).unwrap_or(0)).sum(),
        waiting: Vec::new(),
    };
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending");
    let last = |status: Option<Result<RunStatus, String>>| status.and_then(Result::ok).map(|s| Box::new(seen(s)));
    match (phase, status) {
        ("Failed", status) => Err(StatusError::PodFailed {
            why: own_words(status.as_ref()).unwrap_or_else(|| why_it_ended(pod)),
            last: last(status),
            namespace: namespace.to_owned(),
            pod: name.clone(),
        }),
        ("Unknown", status) => Err(StatusError::PodUnknown {
            node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
            last: last(status),
            pod: name.clone(),
        }),
        // Its container has ended well, which it does only after the run: unless the status says otherwise.
        ("Succeeded", Some(Ok(status))) if matches!(status.status, RunPhase::Complete | RunPhase::Failed) => {
            Ok(seen(status))
        }
        ("Succeeded", status) => Err(StatusError::PodFailed {
            why: "its container ended before the run was complete".to_owned(),
            last: last(status),
            namespace: namespace.to_owned(),
            pod: name.clone(),
        }),
        ("Running", Some(Ok(status))) => Ok(seen(status)),
        ("Running", Some(Err(cause))) => Err(StatusError::Damaged { pod: name, cause }),
        ("Running", None) => Err(StatusError::NoAnnotation {
            waiting: Waiting::of(pod).map(Box::new),
            namespace: namespace.to_owned(),
            pod: name,
        }),
        _ => Err(StatusError::Pending {
            waiting: Waiting::of(pod).map(Box::new),
            events: Vec::new(),
            namespace: namespace.to_owned(),
            pod: name,
        }),
    }
}

/// Why the run failed, as its aggregator has told before it ended: how the process ended says less.
fn own_words(status: Option<&Result<RunStatus, String>>) -> Option<String> {
    let status = status?.as_ref().ok().filter(|status| status.status == RunPhase::Failed)?;
    status.failure.as_ref().map(|failure| failure.reason.clone())
}

fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    pod.status.iter().flat_map(|status| &status.container_statuses).flatten()
}

/// How the pod ended: what is said of the pod itself, else of a container that ended badly.
fn why_it_ended(pod: &Pod) -> String {
    let status = pod.status.as_ref();
    let of_pod = [status.and_then(|s| s.reason.as_deref()), status.and_then(|s| s.message.as_deref())];
    let of_pod: Vec<&str> = of_pod.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    if !of_pod.is_empty() {
        return of_pod.join(": ");
    }
    let ended = containers(pod).find_map(|container| {
        let end = container.state.as_ref()?.terminated.as_ref()?;
        Some(format!("container `{}` {}", container.name, how_it_ended(end)))
    });
    ended.unwrap_or_else(|| "Kubernetes does not say why".to_owned())
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
