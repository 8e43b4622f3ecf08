//! What the monitor wants to know of a pod or a node, read from the object as the API server sends it. Any field may be missing.

use plumbline_core::NodeName;
use serde_json::Value;

use crate::names;

/// Characters of a message of the cluster that are kept: the longest known, the scheduler's on a cluster with many kinds of nodes, stay below.
const MAX_MESSAGE: usize = 1000;

/// The longest grace of a deletion that is believed, in seconds.
const MAX_DELETION_GRACE: u64 = 600;

/// A pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PodFacts {
    pub(super) name: String,
    pub(super) uid: String,
    /// The session of the plugin that it belongs to.
    pub(super) session: Option<String>,
    /// RFC 3339 in UTC as the server writes it: earlier is smaller.
    pub(super) created: String,
    /// The node that it was assigned to.
    pub(super) node: Option<String>,
    /// The node that it is meant for while it is not assigned: a DaemonSet's pods are made for one each.
    pub(super) target: Option<String>,
    /// It is being deleted, with so many seconds for its containers to end.
    pub(super) deleting: Option<u64>,
    pub(super) phase: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    /// The scheduler's message, if it found no node.
    pub(super) unschedulable: Option<String>,
    /// Why the cluster ends it: a condition `DisruptionTarget`.
    pub(super) disruption: Option<String>,
    /// Init containers first, then the others, each in the order of the spec.
    pub(super) containers: Vec<ContainerFacts>,
}

/// What a container is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    /// Runs to its end before the others start.
    Init,
    /// An init container that goes on beside the others.
    Companion,
    #[default]
    Main,
}

/// A container of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ContainerFacts {
    pub(super) name: String,
    pub(super) image: String,
    pub(super) role: Role,
    pub(super) memory_limit: Option<String>,
    pub(super) restarts: u64,
    pub(super) state: State,
    /// How it ended the time before.
    pub(super) last: Option<Ended>,
}

impl ContainerFacts {
    /// It has run, so it may have said something.
    pub(super) fn has_run(&self) -> bool {
        matches!(self.state, State::Running | State::Ended(_)) || self.last.is_some()
    }

    pub(super) fn is_running(&self) -> bool {
        self.state == State::Running
    }

    pub(super) fn ended(&self) -> Option<&Ended> {
        match &self.state {
            State::Ended(ended) => Some(ended),
            _ => None,
        }
    }
}

/// Where a container stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum State {
    #[default]
    Unknown,
    Waiting {
        reason: String,
        message: Option<String>,
    },
    Running,
    Ended(Ended),
}

/// How a container ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ended {
    pub(super) code: i64,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

impl Ended {
    /// The kernel killed a process of the container for memory. The container's first process may
    /// have ended well all the same.
    pub(super) fn was_out_of_memory(&self) -> bool {
        self.reason.as_deref() == Some("OOMKilled")
    }

    pub(super) fn went_well(&self) -> bool {
        self.code == 0 && !self.was_out_of_memory()
    }
}

impl PodFacts {
    /// The node that it runs on or is made for.
    pub(super) fn place(&self) -> Option<&str> {
        self.node.as_deref().or(self.target.as_deref())
    }

    pub(super) fn container(&self, name: &str) -> Option<&ContainerFacts> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// Reads a pod; `None` without a good name.
    pub(super) fn read(pod: &Value) -> Option<Self> {
        let text = |path: &str| text(pod, path);
        let condition = |kind: &str, status: &str| {
            list(pod, "/status/conditions")
                .iter()
                .find(|condition| is(condition, "/type", kind) && is(condition, "/status", status))
        };
        let unschedulable = condition("PodScheduled", "False")
            .filter(|condition| is(condition, "/reason", "Unschedulable"))
            .map(|condition| message(condition, "/message").unwrap_or_else(|| "no node fits".to_owned()));
        let disruption = condition("DisruptionTarget", "True").map(|condition| {
            let told = [message(condition, "/reason"), message(condition, "/message")];
            told.into_iter().flatten().collect::<Vec<_>>().join(": ")
        });
        let deleting = text("/metadata/deletionTimestamp").map(|_| {
            let grace = pod.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_u64);
            grace.unwrap_or_default().min(MAX_DELETION_GRACE)
        });
        Some(Self {
            name: name(pod, "/metadata/name")?,
            uid: text("/metadata/uid").unwrap_or_default(),
            session: pod
                .pointer("/metadata/labels")
                .and_then(|labels| labels.get(names::SESSION_LABEL))
                .and_then(Value::as_str)
                .map(str::to_owned),
            created: text("/metadata/creationTimestamp").unwrap_or_default(),
            node: text("/spec/nodeName"),
            target: target(pod),
            deleting,
            phase: text("/status/phase").unwrap_or_default(),
            reason: message(pod, "/status/reason"),
            message: message(pod, "/status/message"),
            unschedulable,
            disruption: disruption.filter(|told| !told.is_empty()),
            containers: containers(pod),
        })
    }
}

/// The node that a DaemonSet's controller made a pod for: it asks the scheduler for exactly that one.
fn target(pod: &Value) -> Option<String> {
    let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    list(pod, terms)
        .iter()
        .flat_map(|term| list(term, "/matchFields"))
        .find(|field| is(field, "/key", "metadata.name") && is(field, "/operator", "In"))
        .and_then(|field| text(field, "/values/0"))
}

fn containers(pod: &Value) -> Vec<ContainerFacts> {
    let read = |spec: &Value, statuses: &str, init: bool| {
        let name = name(spec, "/name")?;
        let status = list(pod, statuses).iter().find(|status| is(status, "/name", &name));
        let at = |path: &str| status.and_then(|status| status.pointer(path));
        let role = match init {
            true if is(spec, "/restartPolicy", "Always") => Role::Companion,
            true => Role::Init,
            false => Role::Main,
        };
        Some(ContainerFacts {
            role,
            image: text(spec, "/image").unwrap_or_default(),
            memory_limit: text(spec, "/resources/limits/memory"),
            restarts: at("/restartCount").and_then(Value::as_u64).unwrap_or_default(),
            state: at("/state").map(state).unwrap_or_default(),
            last: at("/lastState/terminated").filter(|ended| ended.is_object()).map(ended),
            name,
        })
    };
    let init = list(pod, "/spec/initContainers");
    let main = list(pod, "/spec/containers");
    init.iter()
        .filter_map(|spec| read(spec, "/status/initContainerStatuses", true))
        .chain(main.iter().filter_map(|spec| read(spec, "/status/containerStatuses", false)))
        .collect()
}

fn state(state: &Value) -> State {
    let part = |name: &str| state.get(name).filter(|part| part.is_object());
    if let Some(terminated) = part("terminated") {
        State::Ended(ended(terminated))
    } else if part("running").is_some() {
        State::Running
    } else if let Some(waiting) = part("waiting") {
        let reason = message(waiting, "/reason").unwrap_or_default();
        State::Waiting { reason, message: message(waiting, "/message") }
    } else {
        State::Unknown
    }
}

fn ended(terminated: &Value) -> Ended {
    Ended {
        // Without a code nobody knows that it went well.
        code: terminated.get("exitCode").and_then(Value::as_i64).unwrap_or(-1),
        reason: message(terminated, "/reason"),
        message: message(terminated, "/message"),
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NodeFacts {
    pub(super) name: String,
    pub(super) ready: bool,
    /// Why it is not ready.
    pub(super) reason: Option<String>,
    /// Its taints as people write them: `key=value:effect`.
    pub(super) taints: Vec<String>,
}

impl NodeFacts {
    /// Reads a node; `None` without a good name.
    pub(super) fn read(node: &Value) -> Option<Self> {
        let ready = list(node, "/status/conditions").iter().find(|condition| is(condition, "/type", "Ready"));
        let reason = ready.map(|condition| {
            let told = [message(condition, "/reason"), message(condition, "/message")];
            told.into_iter().flatten().collect::<Vec<_>>().join(": ")
        });
        let taints = list(node, "/spec/taints").iter().filter_map(|taint| {
            let (key, effect) = (message(taint, "/key")?, message(taint, "/effect").unwrap_or_default());
            Some(match message(taint, "/value") {
                Some(value) => format!("{key}={value}:{effect}"),
                None => format!("{key}:{effect}"),
            })
        });
        Some(Self {
            name: name(node, "/metadata/name")?,
            ready: ready.is_some_and(|condition| is(condition, "/status", "True")),
            reason: reason.filter(|told| !told.is_empty()),
            taints: taints.collect(),
        })
    }
}

/// A name that may become a part of a path or a URL. All kinds of objects that are read here have names that are good names of nodes.
fn name(object: &Value, path: &str) -> Option<String> {
    text(object, path).filter(|name| name.parse::<NodeName>().is_ok())
}

fn text(object: &Value, path: &str) -> Option<String> {
    object.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Text for people: in one line, and not endless.
fn message(object: &Value, path: &str) -> Option<String> {
    let text = text(object, path)?;
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_MESSAGE) {
        line.truncate(end);
        line.push('…');
    }
    Some(line).filter(|line| !line.is_empty())
}

fn is(object: &Value, path: &str, wanted: &str) -> bool {
    object.pointer(path).and_then(Value::as_str) == Some(wanted)
}

fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_of_a_daemon_set_is_meant_for_a_node_before_it_is_assigned() {
        let pod = PodFacts::read(&json!({
            "metadata": {"name": "p", "labels": {"sonobuoy-run": "s1"}},
            "spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w2"]}]}]}}}},
            "status": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes\nare available"}]},
        }))
        .unwrap();
        assert_eq!((pod.place(), pod.session.as_deref()), (Some("w2"), Some("s1")));
        assert_eq!(pod.unschedulable.as_deref(), Some("0/3 nodes are available"));
    }

    #[test]
    fn odd_objects_are_read_as_far_as_they_go() {
        assert_eq!(PodFacts::read(&json!({"metadata": {}})), None);
        assert_eq!(PodFacts::read(&json!({"metadata": {"name": "../../etc"}})), None);
        assert_eq!(NodeFacts::read(&json!([])), None);
        let pod = PodFacts::read(&json!({
            "metadata": {"name": "p", "labels": [], "deletionTimestamp": "x", "deletionGracePeriodSeconds": 1e18},
            "spec": {"containers": [{"image": 7}, {"name": "c"}, null], "initContainers": "none", "affinity": []},
            "status": {"conditions": {}, "containerStatuses": [{"name": "c", "restartCount": -1, "state": {"terminated": {}}}]},
        }))
        .unwrap();
        assert_eq!(pod.containers.len(), 1);
        assert_eq!(pod.containers[0].ended().unwrap().code, -1);
        assert_eq!(pod.containers[0].restarts, 0);
        let node = NodeFacts::read(
            &json!({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {}]}}),
        );
        assert_eq!(node.unwrap().taints, ["a:NoSchedule"]);
    }

    #[test]
    fn long_messages_are_cut() {
        let pod = json!({"metadata": {"name": "p"}, "status": {"message": "ä".repeat(5000)}});
        assert_eq!(PodFacts::read(&pod).unwrap().message.unwrap().chars().count(), MAX_MESSAGE + 1);
    }
}
