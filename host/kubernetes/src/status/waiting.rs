//! Derives from a pod what it waits for.

use jiff::Timestamp;

use crate::pod_view::{ContainerState, ContainerView, Ended, PodView};
use crate::reasons;

/// The reason of containers that are restarted with a delay.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// A pod that is not running yet, or not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let (reason, message, image, since) = unscheduled(pod).or_else(|| {
            let waits: Vec<_> = pod.containers.iter().filter_map(container).collect();
            // A problem is more informative than a container that is being created.
            let trouble = waits.iter().find(|(reason, ..)| !reasons::STARTING.contains(&reason.as_str()));
            trouble.or_else(|| waits.first()).cloned()
        })?;
        Some(Self {
            pod: pod.name.clone(),
            plugin: pod.plugin.clone(),
            node: pod.place().map(str::to_owned),
            reason,
            message,
            image,
            since: since.or(pod.created),
        })
    }

    /// Returns true if the image is not available.
    #[must_use]
    pub fn is_image_trouble(&self) -> bool {
        reasons::IMAGE.contains(&self.reason.as_str())
    }

    /// Returns true if the pod is in the normal start phase.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        reasons::STARTING.contains(&self.reason.as_str())
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
            CRASH_LOOP => format!("crashes again and again ({CRASH_LOOP})"),
            "ContainerCreating" => "image being pulled, volumes being mounted".to_owned(),
            "PodInitializing" => "init containers running".to_owned(),
            other => format!("cannot start ({other})"),
        };
        if self.message.is_empty() { what } else { format!("{what}: {}", self.message) }
    }
}

type Found = (String, String, Option<String>, Option<Timestamp>);

fn unscheduled(pod: &PodView) -> Option<Found> {
    let found = pod.unscheduled.clone()?;
    Some((found.reason, found.message.unwrap_or_default(), None, found.since))
}

fn container(container: &ContainerView) -> Option<Found> {
    let ContainerState::Waiting { reason, message } = &container.state else { return None };
    if reason.is_empty() {
        return None;
    }
    let image = Some(container.image.clone()).filter(|image| !image.is_empty());
    let message = match &container.last {
        // Kubernetes only says how long it waits before the next attempt.
        Some(end) if reason == CRASH_LOOP => format!("it {}", how_it_ended(end)),
        _ => message.clone().unwrap_or_default(),
    };
    Some((reason.clone(), message, image, None))
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
    fn troubles_are_told_and_say_more_than_a_start() {
        let mut beside = waiting("ContainerCreating", "");
        beside["name"] = json!("beside");
        let spec = json!({"nodeName": "n1", "containers": [{"name": "beside"}, {"name": "plugin", "image": "r/i:1"}]});
        let both = json!({"phase": "Pending", "containerStatuses": [
            beside, waiting("ImagePullBackOff", "Back-off\npulling image")]});
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
    fn of_a_container_that_crashes_the_last_end_is_told() {
        let mut crashing = waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=p pod=p_ns(1)");
        let told = |status: &Value| {
            let status = json!({"phase": "Running", "containerStatuses": [status]});
            Waiting::of(&pod(json!({"containers": [{"name": "plugin"}]}), status)).unwrap().words()
        };
        assert!(
            told(&crashing).ends_with("(CrashLoopBackOff): back-off 5m0s restarting failed container=p pod=p_ns(1)")
        );
        crashing["lastState"] =
            json!({"terminated": {"exitCode": 128, "reason": "StartError", "message": "exec: no\nsuch file"}});
        assert_eq!(
            told(&crashing),
            "crashes again and again (CrashLoopBackOff): it ended with exit code 128 (StartError): exec: no such file"
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
