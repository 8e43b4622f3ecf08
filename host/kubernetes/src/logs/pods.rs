//! The properties of a pod that matter for its logs.

use std::io;

use serde_json::Value;

use super::event::LogOptions;
use crate::pod_view::{ContainerState, ContainerView, PodView};
use crate::query::Sink;

/// The name by which Sonobuoy's users request the aggregator's logs.
const AGGREGATOR_ALIAS: &str = "sonobuoy";

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) name: String,
    /// Distinguishes the pod from an earlier one of the same name.
    pub(super) identity: String,
    /// The plugin that the pod belongs to.
    plugin: Option<String>,
    pub(super) is_aggregator: bool,
    /// The containers in start order: init containers first.
    pub(super) containers: Vec<(String, State)>,
    /// Whether this is the aggregator's pod and its status says that the run is over.
    pub(super) run_over: bool,
}

/// The progress of a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The number of instances that have started.
    pub(super) instances: u64,
    /// Whether the last instance is still running.
    pub(super) running: bool,
    /// Whether no other instance will start, because the pod is gone or has ended.
    pub(super) last: bool,
}

impl Pod {
    /// Converts a pod. Returns `None` if it contains a name that is not safe in a URL path.
    pub(super) fn of(pod: PodView) -> Option<Self> {
        if pod.unsafe_name().is_some() {
            return None;
        }
        let containers = pod.containers.iter().map(|container| (container.name.clone(), state(&pod, container)));
        Some(Self {
            identity: pod.identity().to_owned(),
            is_aggregator: pod.is_aggregator,
            containers: containers.collect(),
            run_over: pod.is_aggregator && (pod.has_ended() || says_over(pod.run_status.as_deref())),
            plugin: pod.plugin,
            name: pod.name,
        })
    }

    /// Returns true if the options select the logs of this pod.
    pub(super) fn is_wanted(&self, options: &LogOptions) -> bool {
        match options.plugin.as_deref() {
            None => true,
            Some(AGGREGATOR_ALIAS) => self.is_aggregator,
            Some(plugin) => self.plugin.as_deref() == Some(plugin),
        }
    }
}

fn state(pod: &PodView, container: &ContainerView) -> State {
    let (instances, running) = match &container.state {
        // There is no status of the container, so the pod's phase is used instead.
        ContainerState::Unknown => {
            let running = pod.phase == "Running";
            (u64::from(running || pod.has_ended()), running)
        }
        // A container that waits for a restart has run before. One that waits for its first start
        // has not.
        _ => (container.restarts.saturating_add(u64::from(container.has_run())), container.is_running()),
    };
    State { instances, running, last: pod.has_ended() }
}

/// Returns true if the status on the aggregator's pod says that the run is over.
fn says_over(status: Option<&str>) -> bool {
    let status = status.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let phase = status.as_ref().and_then(|status| status.get("status")?.as_str());
    matches!(phase, Some("complete" | "failed"))
}

/// Collects the pods of a list.
#[derive(Debug, Default)]
pub(super) struct Pods(pub(super) Vec<Pod>);

impl Sink for Pods {
    fn item(&mut self, item: Value) -> io::Result<()> {
        self.0.extend(PodView::read(&item).and_then(Pod::of));
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.0.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(pod: &Value) -> Option<Pod> {
        PodView::read(pod).and_then(Pod::of)
    }

    fn state_of(status: Value) -> State {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}, "status": status});
        read(&pod).unwrap().containers[0].1
    }

    #[test]
    fn instances_of_a_container_are_counted() {
        let container = |status: Value| state_of(json!({"phase": "Running", "containerStatuses": [status]}));
        let state = |instances, running| State { instances, running, last: false };
        assert_eq!(container(json!({"name": "c", "state": {"waiting": {}}})), state(0, false));
        assert_eq!(container(json!({"name": "c", "state": {"running": {}}, "restartCount": 0})), state(1, true));
        let crashing =
            json!({"name": "c", "state": {"waiting": {}}, "lastState": {"terminated": {}}, "restartCount": 2});
        assert_eq!(container(crashing), state(3, false));
        assert_eq!(container(json!({"name": "other"})), state(1, true));
        assert_eq!(state_of(json!({"phase": "Failed"})), State { instances: 1, running: false, last: true });
        assert_eq!(state_of(json!({})), State::default());
    }

    #[test]
    fn the_aggregator_tells_when_the_run_is_over() {
        let pod = |annotation: &str, phase: &str| {
            let pod = json!({"metadata": {"name": "p", "labels": {"sonobuoy-component": "aggregator"},
                "annotations": {"sonobuoy.hept.io/status": annotation}}, "spec": {}, "status": {"phase": phase}});
            read(&pod).unwrap().run_over
        };
        assert!(pod(r#"{"status":"complete"}"#, "Running") && pod(r#"{"status":"failed"}"#, "Running"));
        assert!(pod("", "Failed"));
        assert!(!pod(r#"{"status":"running"}"#, "Running") && !pod("{", "Running"));
    }

    #[test]
    fn plugins_are_told_apart() {
        let pod = |labels: Value| read(&json!({"metadata": {"name": "p", "labels": labels}, "spec": {}})).unwrap();
        let options = |plugin: &str| LogOptions { namespace: "n".to_owned(), plugin: Some(plugin.to_owned()) };
        let old = pod(json!({"run": "sonobuoy-master"}));
        assert!(old.is_wanted(&options("sonobuoy")) && !old.is_wanted(&options("e2e")));
        let plugin = pod(json!({"sonobuoy-plugin": "e2e"}));
        assert!(plugin.is_wanted(&options("e2e")) && !plugin.is_wanted(&options("sonobuoy")));
        assert!(read(&json!({"metadata": {"name": "../x"}, "spec": {}})).is_none());
    }
}
