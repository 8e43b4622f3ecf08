//! The observed state of a run, and what its pods wait for.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::run_status::{RunPhase, RunStatus};
use serde::Serialize;

use crate::pod_view::{ContainerState, Ended, IMAGE_REASONS, PodView, STARTING_REASONS};

/// The age of the last heartbeat, 60 s, after which the aggregator is probably gone. It writes
/// every 15 s.
pub const STALE: SignedDuration = SignedDuration::from_secs(60);

/// The observed state of a run in the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The namespace of the run.
    pub namespace: String,
    /// The name of the aggregator's pod.
    pub pod: String,
    /// The status in the pod's annotation.
    pub status: RunStatus,
    /// When the pod was created.
    pub began: Option<Timestamp>,
    /// Number of restarts of the aggregator's container.
    pub restarts: u32,
    /// What pods of plugins wait for, sorted by plugin and node.
    pub waiting: Vec<Waiting>,
}

impl Seen {
    /// Returns true if the run has finished or failed. Its status will not change any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status.status, RunPhase::Complete | RunPhase::Failed)
    }

    /// Returns the time since the last heartbeat, if it exceeds [`STALE`] and the run is not over.
    /// Returns `None` for aggregators without heartbeats.
    #[must_use]
    pub fn silent_for(&self, now: Timestamp) -> Option<SignedDuration> {
        let silent = now.duration_since(self.status.heartbeat.filter(|_| !self.is_over())?);
        (silent > STALE).then_some(silent)
    }

    /// Returns true if the status is incomplete. [`super::full`] may have the rest.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.status.compacted.is_some()
    }
}

/// The reason of containers that are restarted with a delay.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// A pod that is not running yet, or not any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The pod.
    pub pod: String,
    /// The plugin to which the pod belongs, or `None` for the aggregator.
    pub plugin: Option<String>,
    /// The node on which the pod is or for which it is intended, or `None` if unknown.
    pub node: Option<String>,
    /// The reason in the terms of Kubernetes, such as `ImagePullBackOff` or `Unschedulable`.
    pub reason: String,
    /// The message of Kubernetes, or how a crashing container ended last. One line, which may be
    /// empty.
    pub message: String,
    /// The image, if that is the problem.
    pub image: Option<String>,
    /// When the pod started to wait.
    pub since: Option<Timestamp>,
}

impl Waiting {
    /// Returns what `pod` waits for, or `None` if it does not wait.
    #[must_use]
    pub(crate) fn of(pod: &PodView) -> Option<Self> {
        let waiting = |reason: &str, message: Option<String>, image: Option<String>, since: Option<Timestamp>| Self {
            pod: pod.name.clone(),
            plugin: pod.plugin.clone(),
            node: pod.place().map(str::to_owned),
            reason: reason.to_owned(),
            message: message.unwrap_or_default(),
            image,
            since: since.or(pod.created),
        };
        if let Some(found) = &pod.unscheduled {
            return Some(waiting(&found.reason, found.message.clone(), None, found.since));
        }
        let mut waits = pod.containers.iter().filter_map(|container| match &container.state {
            ContainerState::Waiting { reason, message } if !reason.is_empty() => Some((container, reason, message)),
            _ => None,
        });
        // A problem is more informative than a container that is being created.
        let is_problem = |reason: &str| !STARTING_REASONS.contains(&reason);
        let (container, reason, message) =
            waits.clone().find(|(_, reason, _)| is_problem(reason)).or_else(|| waits.next())?;
        let message = match &container.last {
            // Kubernetes only says how long it waits before the next attempt.
            Some(end) if reason == CRASH_LOOP => Some(format!("it {}", how_it_ended(end))),
            _ => message.clone(),
        };
        let image = Some(container.image.clone()).filter(|image| !image.is_empty());
        Some(waiting(reason, message, image, None))
    }

    /// Returns true if the image is not available.
    #[must_use]
    pub fn is_image_trouble(&self) -> bool {
        IMAGE_REASONS.contains(&self.reason.as_str())
    }

    /// Returns true if the pod is in the normal start phase.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        STARTING_REASONS.contains(&self.reason.as_str())
    }

    /// Returns one line for the user, without the time. It may contain untrusted text from
    /// Kubernetes.
    #[must_use]
    pub fn words(&self) -> String {
        let what = match self.reason.as_str() {
            reason if self.is_image_trouble() => match &self.image {
                Some(image) => format!("image `{image}` cannot be pulled ({reason})"),
                None => format!("image cannot be pulled ({reason})"),
            },
            "Unschedulable" => "no node fits".to_owned(),
            CRASH_LOOP => format!("keeps crashing ({CRASH_LOOP})"),
            "ContainerCreating" => "image being pulled, volumes being mounted".to_owned(),
            "PodInitializing" => "init containers running".to_owned(),
            other => format!("cannot start ({other})"),
        };
        if self.message.is_empty() { what } else { format!("{what}: {}", self.message) }
    }
}

/// Returns how a container ended, as text that follows its name.
pub(super) fn how_it_ended(end: &Ended) -> String {
    let reason = end.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let message = end.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
    format!("ended with exit code {}{reason}{message}", end.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pod(spec: Value, status: Value) -> PodView {
        PodView::read(&json!({
            "metadata": {"name": "p", "creationTimestamp": "2026-11-20T13:00:00Z", "labels": {"sonobuoy-plugin": "bench"}},
            "spec": spec, "status": status,
        }))
        .unwrap()
    }

    fn waiting(reason: &str, message: &str) -> Value {
        json!({"name": "plugin", "restartCount": 0,
               "state": {"waiting": {"reason": reason, "message": message}}})
    }

    #[test]
    fn problems_are_shown_and_take_precedence_over_a_start() {
        let mut sidecar = waiting("ContainerCreating", "");
        sidecar["name"] = json!("sidecar");
        let spec = json!({"nodeName": "n1", "containers": [{"name": "sidecar"}, {"name": "plugin", "image": "r/i:1"}]});
        let both = json!({"phase": "Pending", "containerStatuses": [
            sidecar, waiting("ImagePullBackOff", "Back-off\npulling image")]});
        let found = Waiting::of(&pod(spec.clone(), both)).unwrap();
        assert_eq!(found.words(), "image `r/i:1` cannot be pulled (ImagePullBackOff): Back-off pulling image");
        assert_eq!((found.plugin.as_deref(), found.node.as_deref()), (Some("bench"), Some("n1")));
        assert!(found.is_image_trouble() && !found.is_starting() && found.since.is_some());
        let starting = json!({"phase": "Pending", "containerStatuses": [waiting("ContainerCreating", "")]});
        assert!(Waiting::of(&pod(spec.clone(), starting)).unwrap().is_starting());
        let running = json!({"phase": "Running", "containerStatuses": [
            {"name": "plugin", "restartCount": 0, "state": {"running": {}}}]});
        assert_eq!(Waiting::of(&pod(spec, running)), None);
    }

    #[test]
    fn the_last_exit_of_a_crashing_container_is_shown() {
        let mut crashing = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=p pod=p_ns(1)");
        let words_of = |status: &Value| {
            let status = json!({"phase": "Running", "containerStatuses": [status]});
            Waiting::of(&pod(json!({"containers": [{"name": "plugin"}]}), status)).unwrap().words()
        };
        assert!(
            words_of(&crashing)
                .ends_with("(CrashLoopBackOff): back-off 5m0s restarting failed container=p pod=p_ns(1)")
        );
        crashing["lastState"] =
            json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: no\nsuch file"}});
        assert_eq!(
            words_of(&crashing),
            "keeps crashing (CrashLoopBackOff): it ended with exit code 128 (StartError): exec: no such file"
        );
    }

    #[test]
    fn a_pod_that_no_node_takes_names_the_node_it_is_for() {
        let spec = json!({"containers": [], "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker-7"]}]}]}}}});
        let status = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/12 nodes are available"}]});
        let found = Waiting::of(&pod(spec, status)).unwrap();
        assert_eq!(found.node.as_deref(), Some("worker-7"));
        assert_eq!(found.words(), "no node fits: 0/12 nodes are available");
    }

    #[test]
    fn a_pod_without_anything_waits_for_nothing() {
        assert_eq!(Waiting::of(&PodView::default()), None);
        assert_eq!(Waiting::of(&pod(json!({"containers": []}), json!({}))), None);
    }
}
