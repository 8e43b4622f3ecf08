//! Derives the state of the run from the aggregator's pod.

use plumbline_core::run_status::{RunPhase, RunStatus};

use super::error::StatusError;
use super::seen::Seen;
use super::waiting::{Waiting, how_it_ended};
use crate::pod_view::{PodView, Role};

/// Parses an annotation.
pub(super) fn parse(text: &str) -> Result<RunStatus, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns the state of the run according to the pod. `status` is its parsed annotation.
pub(super) fn look(
    namespace: &str,
    pod: &PodView,
    status: Option<Result<RunStatus, String>>,
) -> Result<Seen, StatusError> {
    let name = pod.name.clone();
    let seen = |status: RunStatus| Seen {
        namespace: namespace.to_owned(),
        pod: name.clone(),
        status,
        began: pod.created,
        restarts: restarts(pod),
        waiting: Vec::new(),
    };
    let last = |status: Option<Result<RunStatus, String>>| status.and_then(Result::ok).map(|s| Box::new(seen(s)));
    match (pod.phase.as_str(), status) {
        ("Failed", status) => Err(StatusError::PodFailed {
            why: own_words(status.as_ref()).unwrap_or_else(|| why_it_ended(pod)),
            last: last(status),
            namespace: namespace.to_owned(),
            pod: name.clone(),
        }),
        ("Unknown", status) => Err(StatusError::PodUnknown {
            node: pod.node.clone().unwrap_or_default(),
            last: last(status),
            pod: name.clone(),
        }),
        // The container ended successfully, which it does only after the run. The status may say
        // otherwise.
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

/// Returns why the run failed, if the aggregator reported it before it ended. The exit of the
/// process says less.
fn own_words(status: Option<&Result<RunStatus, String>>) -> Option<String> {
    let status = status?.as_ref().ok().filter(|status| status.status == RunPhase::Failed)?;
    status.failure.as_ref().map(|failure| failure.reason.clone())
}

/// Returns the number of restarts of the main containers.
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
        || "Kubernetes does not say why".to_owned(),
        |(container, end)| format!("container `{}` {}", container.name, how_it_ended(end)),
    )
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;
