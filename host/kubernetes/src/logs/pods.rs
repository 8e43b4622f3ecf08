//! What matters of a pod to who reads its logs.

use std::io;

use serde_json::Value;

use super::event::LogOptions;
use crate::names;
use crate::query::{Sink, is_safe_name};

/// What Sonobuoy's users call the aggregator when they ask for its logs.
const AGGREGATOR_ALIAS: &str = "sonobuoy";

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) name: String,
    /// What tells it from an earlier one of the same name.
    pub(super) identity: String,
    /// Of which plugin it is.
    plugin: Option<String>,
    pub(super) is_aggregator: bool,
    /// In the order in which they begin: init containers first.
    pub(super) containers: Vec<(String, State)>,
    /// It is the aggregator's, and says that the run is over.
    pub(super) run_over: bool,
}

/// How far a container is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct State {
    /// How many instances of it have begun.
    pub(super) instances: u64,
    /// The last of them has not ended.
    pub(super) running: bool,
    /// No other will begin: its pod is gone, or has ended.
    pub(super) last: bool,
}

impl Pod {
    /// Reads a pod. `None` if a name in it is none, so that it cannot be asked for.
    pub(super) fn read(item: &Value) -> Option<Self> {
        let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        let identity = if text("/metadata/uid").is_empty() { name } else { text("/metadata/uid") };
        let label = |key: &str| item.pointer("/metadata/labels").and_then(|all| all.get(key)).and_then(Value::as_str);
        let (legacy_key, legacy_value) = names::LEGACY_AGGREGATOR_LABEL;
        let is_aggregator =
            label(names::ROLE_LABEL) == Some(names::AGGREGATOR) || label(legacy_key) == Some(legacy_value);
        let phase = text("/status/phase");
        let ended = matches!(phase, "Succeeded" | "Failed");
        let mut containers = Vec::new();
        for (list, statuses) in [("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")] {
            for container in list_of(item, "/spec", list) {
                let container = container.get("name").and_then(Value::as_str).filter(|name| is_safe_name(name))?;
                let status = list_of(item, "/status", statuses)
                    .find(|status| status.get("name").and_then(Value::as_str) == Some(container));
                let mut state = match status {
                    Some(status) => state(status),
                    // No word about the container: the pod's phase has to do.
                    None => State {
                        instances: u64::from(ended || phase == "Running"),
                        running: phase == "Running",
                        last: false,
                    },
                };
                state.last = ended;
                containers.push((container.to_owned(), state));
            }
        }
        is_safe_name(name).then(|| Self {
            name: name.to_owned(),
            identity: identity.to_owned(),
            plugin: label(names::PLUGIN_LABEL).map(ToOwned::to_owned),
            is_aggregator,
            containers,
            run_over: is_aggregator && (ended || says_over(item)),
        })
    }

    /// Whether its logs are asked for.
    pub(super) fn is_wanted(&self, options: &LogOptions) -> bool {
        match options.plugin.as_deref() {
            None => true,
            Some(AGGREGATOR_ALIAS) => self.is_aggregator,
            Some(plugin) => self.plugin.as_deref() == Some(plugin),
        }
    }
}

fn list_of<'a>(item: &'a Value, above: &str, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    item.pointer(above).and_then(|above| above.get(key)).and_then(Value::as_array).into_iter().flatten()
}

fn state(status: &Value) -> State {
    let is = |pointer: &str| status.pointer(pointer).is_some_and(Value::is_object);
    let running = is("/state/running");
    // A container that waits to be started again has ended before; one that waits for the first time has not.
    let begun = running || is("/state/terminated") || is("/lastState/terminated");
    let restarts = status.get("restartCount").and_then(Value::as_u64).unwrap_or(0);
    State { instances: restarts.saturating_add(u64::from(begun)), running, last: false }
}

/// Whether the status on the aggregator's pod says that nothing more will happen.
fn says_over(item: &Value) -> bool {
    let annotations = item.pointer("/metadata/annotations");
    [names::STATUS_ANNOTATION, names::STATUS_ANNOTATION_ALIAS]
        .iter()
        .filter_map(|key| annotations?.get(key)?.as_str())
        .filter_map(|text| serde_json::from_str::<Value>(text).ok())
        .any(|status| matches!(status.get("status").and_then(Value::as_str), Some("complete" | "failed")))
}

/// Takes the pods of a list.
#[derive(Debug, Default)]
pub(super) struct Pods(pub(super) Vec<Pod>);

impl Sink for Pods {
    fn item(&mut self, item: Value) -> io::Result<()> {
        self.0.extend(Pod::read(&item));
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

    fn state_of(status: Value) -> State {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}, "status": status});
        Pod::read(&pod).unwrap().containers[0].1
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
        assert_eq!(state_of(json!(7)), State::default());
    }

    #[test]
    fn the_aggregator_tells_when_the_run_is_over() {
        let pod = |annotation: &str, phase: &str| {
            let pod = json!({"metadata": {"name": "p", "labels": {"sonobuoy-component": "aggregator"},
                "annotations": {"sonobuoy.hept.io/status": annotation}}, "status": {"phase": phase}});
            Pod::read(&pod).unwrap().run_over
        };
        assert!(pod(r#"{"status":"complete"}"#, "Running") && pod(r#"{"status":"failed"}"#, "Running"));
        assert!(pod("", "Failed"));
        assert!(!pod(r#"{"status":"running"}"#, "Running") && !pod("{", "Running"));
    }

    #[test]
    fn plugins_are_told_apart() {
        let pod = |labels: Value| Pod::read(&json!({"metadata": {"name": "p", "labels": labels}})).unwrap();
        let options = |plugin: &str| LogOptions { namespace: "n".to_owned(), plugin: Some(plugin.to_owned()) };
        let old = pod(json!({"run": "sonobuoy-master"}));
        assert!(old.is_wanted(&options("sonobuoy")) && !old.is_wanted(&options("e2e")));
        let plugin = pod(json!({"sonobuoy-plugin": "e2e"}));
        assert!(plugin.is_wanted(&options("e2e")) && !plugin.is_wanted(&options("sonobuoy")));
        assert!(Pod::read(&json!({"metadata": {"name": "../x"}})).is_none());
    }
}
