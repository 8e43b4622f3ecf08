//! The only place where pods are interpreted. Monitor, status, logs and workers read a [`PodView`],
//! never the object of the API server.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::core::{ApiResource, Object, ObjectMeta};
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::{self, is_safe_name};
use crate::retry::{Listing, list};

/// Maximum length of a message in characters. The longest known ones, from the scheduler on a
/// cluster with many kinds of nodes, are shorter.
const MAX_MESSAGE: usize = 1000;

/// Upper limit for the grace period of a deletion, in seconds. A larger value is treated as this
/// one.
const MAX_DELETION_GRACE: u64 = 600;

/// The reasons of the kubelet for containers that wait because their image is not available.
pub(crate) const IMAGE_REASONS: [&str; 7] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// The reasons for containers that could not be created or started.
pub(crate) const CREATE_REASONS: [&str; 6] = [
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "PreCreateHookError",
    "PreStartHookError",
    "PostStartHookError",
];

/// The reasons for containers that are about to start, which is a normal phase: volumes are mounted,
/// images are pulled, and the network is set up.
///
/// Problems in this phase are reported only by events.
pub(crate) const STARTING_REASONS: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// The parts of a pod on which Plumbline's decisions depend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PodView {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    /// The plugin to which the pod belongs, from its label.
    pub(crate) plugin: Option<String>,
    /// The session of that plugin, from its label.
    pub(crate) session: Option<String>,
    pub(crate) is_aggregator: bool,
    /// The annotation with the status of the run, which the aggregator writes on its pod.
    pub(crate) run_status: Option<String>,
    pub(crate) created: Option<Timestamp>,
    /// The node to which the pod is assigned.
    pub(crate) node: Option<String>,
    /// The node for which a DaemonSet created the pod, before it is assigned.
    pub(crate) target: Option<String>,
    /// If the pod is being deleted, the grace period of its containers in seconds.
    pub(crate) deleting: Option<u64>,
    pub(crate) phase: String,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    /// Why the scheduler has not assigned the pod.
    pub(crate) unscheduled: Option<Unscheduled>,
    /// Why the cluster terminates the pod, from its condition `DisruptionTarget`.
    pub(crate) disruption: Option<String>,
    /// Init containers first, then the others, each in the order of the spec.
    pub(crate) containers: Vec<ContainerView>,
    /// The names of the ephemeral containers.
    pub(crate) ephemeral: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unscheduled {
    pub(crate) reason: String,
    pub(crate) message: Option<String>,
    pub(crate) since: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// An init container, which ends before the others start.
    Init,
    /// A native sidecar: an init container that keeps running next to the main containers.
    Sidecar,
    #[default]
    Main,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ContainerView {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) role: Role,
    pub(crate) memory_limit: Option<String>,
    pub(crate) restarts: u64,
    pub(crate) state: ContainerState,
    /// How its previous instance ended.
    pub(crate) last: Option<Ended>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ContainerState {
    /// The kubelet has not reported a state yet.
    #[default]
    Unknown,
    Waiting {
        reason: String,
        message: Option<String>,
    },
    Running,
    Ended(Ended),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ended {
    pub(crate) code: i64,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
}

impl Ended {
    /// Returns true if the kernel killed a process of the container because of memory. The first
    /// process of the container may still have exited successfully.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        self.reason.as_deref() == Some("OOMKilled")
    }

    pub(crate) fn went_well(&self) -> bool {
        self.code == 0 && !self.was_out_of_memory()
    }
}

impl ContainerView {
    /// Returns true if the container has run, so that it may have a log.
    pub(crate) fn has_run(&self) -> bool {
        matches!(self.state, ContainerState::Running | ContainerState::Ended(_)) || self.last.is_some()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state == ContainerState::Running
    }

    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.state {
            ContainerState::Ended(ended) => Some(ended),
            _ => None,
        }
    }
}

impl PodView {
    /// Returns the node on which the pod is running, or for which it was created.
    pub(crate) fn place(&self) -> Option<&str> {
        self.node.as_deref().or(self.target.as_deref())
    }

    pub(crate) fn container(&self, name: &str) -> Option<&ContainerView> {
        self.containers.iter().find(|container| container.name == name)
    }

    pub(crate) fn worker_runs(&self) -> bool {
        self.container(names::WORKER_CONTAINER).is_some_and(ContainerView::is_running)
    }

    /// Returns true if the pod has ended, so that none of its containers will start again.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    /// Returns an identifier that distinguishes the pod from an earlier one of the same name, on
    /// every server.
    pub(crate) fn identity(&self) -> &str {
        if self.uid.is_empty() { &self.name } else { &self.uid }
    }

    /// Returns the names of all containers in start order.
    pub(crate) fn container_names(&self) -> impl Iterator<Item = &str> {
        self.containers.iter().map(|container| container.name.as_str()).chain(self.ephemeral.iter().map(String::as_str))
    }

    /// Returns the first name in the pod that is not safe in a path or URL.
    pub(crate) fn unsafe_name(&self) -> Option<&str> {
        [self.name.as_str()].into_iter().chain(self.container_names()).find(|name| !is_safe_name(name))
    }

    /// Parses a pod. Returns `None` if the object is malformed, or if it contains a name that is
    /// not safe in a path.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Self::checked(PodObject::deserialize(object).ok()?)
    }

    /// Parses a pod like [`PodView::read`].
    pub(crate) fn parse(object: &str) -> Option<Self> {
        Self::checked(serde_json::from_str(object).ok()?)
    }

    /// Interprets a pod. Returns `None` if it contains a name that is not safe in a path or URL.
    pub(crate) fn checked(pod: PodObject) -> Option<Self> {
        let pod = Self::from(pod);
        pod.unsafe_name().is_none().then_some(pod)
    }
}

/// The parts of a pod that Plumbline reads. The code to parse a whole pod would be larger than the
/// rest of a waiting worker.
pub(crate) type PodObject = Object<PodSpec, PodStatus>;

pub(crate) fn pod_api(cluster: &Cluster, namespace: &str) -> Api<PodObject> {
    Api::namespaced_with(cluster.client(), namespace, &ApiResource::erase::<Pod>(&()))
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSpec {
    node_name: Option<String>,
    affinity: Option<Value>,
    init_containers: Option<Vec<ContainerSpec>>,
    containers: Option<Vec<ContainerSpec>>,
    ephemeral_containers: Option<Vec<ContainerSpec>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerSpec {
    name: String,
    image: Option<String>,
    restart_policy: Option<String>,
    resources: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodStatus {
    phase: Option<String>,
    reason: Option<String>,
    message: Option<String>,
    conditions: Option<Vec<Condition>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
    container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
    last_transition_time: Option<Timestamp>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    name: String,
    restart_count: Option<i64>,
    state: Option<StateObject>,
    last_state: Option<StateObject>,
}

#[derive(Debug, Clone, Deserialize)]
struct StateObject {
    waiting: Option<StateDetails>,
    running: Option<StateDetails>,
    terminated: Option<StateDetails>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateDetails {
    exit_code: Option<i64>,
    reason: Option<String>,
    message: Option<String>,
}

impl From<PodObject> for PodView {
    fn from(pod: PodObject) -> Self {
        let PodObject { metadata, spec, status, .. } = pod;
        let status = status.unwrap_or_default();
        let label = |key: &str| metadata.labels.as_ref()?.get(key).filter(|value| !value.is_empty()).cloned();
        let (legacy_key, legacy_value) = names::LEGACY_AGGREGATOR_LABEL;
        let is_aggregator = label(names::ROLE_LABEL).as_deref() == Some(names::AGGREGATOR)
            || label(legacy_key).as_deref() == Some(legacy_value);
        let deleting = metadata.deletion_timestamp.is_some().then(|| {
            let grace = metadata.deletion_grace_period_seconds.unwrap_or_default();
            u64::try_from(grace).unwrap_or_default().min(MAX_DELETION_GRACE)
        });
        let condition = |kind: &str, value: &str| {
            status.conditions.iter().flatten().find(|condition| condition.kind == kind && condition.status == value)
        };
        let unscheduled = condition("PodScheduled", "False").map(|condition| Unscheduled {
            reason: condition.reason.as_deref().and_then(line).unwrap_or_else(|| "Unschedulable".to_owned()),
            message: condition.message.as_deref().and_then(line),
            since: condition.last_transition_time,
        });
        let disruption = condition("DisruptionTarget", "True").map(|condition| {
            let parts = [&condition.reason, &condition.message].into_iter().flatten();
            parts.filter_map(|part| line(part)).collect::<Vec<_>>().join(": ")
        });
        let mut containers = views(spec.init_containers.as_deref(), status.init_container_statuses.as_deref(), true);
        containers.extend(views(spec.containers.as_deref(), status.container_statuses.as_deref(), false));
        Self {
            plugin: label(names::PLUGIN_LABEL),
            session: label(names::SESSION_LABEL),
            is_aggregator,
            run_status: run_status(&metadata),
            created: metadata.creation_timestamp.as_ref().map(|time| time.0),
            target: target(&spec),
            node: spec.node_name.filter(|node| !node.is_empty()),
            deleting,
            phase: status.phase.unwrap_or_default(),
            reason: status.reason.as_deref().and_then(line),
            message: status.message.as_deref().and_then(line),
            unscheduled,
            disruption: disruption.filter(|text| !text.is_empty()),
            containers,
            ephemeral: spec.ephemeral_containers.into_iter().flatten().map(|spec| spec.name).collect(),
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace.unwrap_or_default(),
            uid: metadata.uid.unwrap_or_default(),
        }
    }
}

/// Returns the status annotation under the key that every client reads, or else under the other
/// key. An empty one is ignored.
fn run_status(metadata: &ObjectMeta) -> Option<String> {
    let annotations = metadata.annotations.as_ref()?;
    let keys = [names::STATUS_ANNOTATION, names::STATUS_ANNOTATION_ALIAS];
    keys.iter().filter_map(|key| annotations.get(*key)).find(|text| !text.is_empty()).cloned()
}

/// Returns the node for which a DaemonSet controller created a pod. The controller sets a node
/// affinity for exactly that node.
fn target(spec: &PodSpec) -> Option<String> {
    let terms = "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = spec.affinity.as_ref()?.pointer(terms)?.as_array()?.iter();
    let mut fields = terms.filter_map(|term| term.get("matchFields")?.as_array()).flatten();
    let field =
        fields.find(|field| text_at(field, "/key") == "metadata.name" && text_at(field, "/operator") == "In")?;
    Some(field.pointer("/values/0")?.as_str()?.to_owned())
}

fn views(specs: Option<&[ContainerSpec]>, statuses: Option<&[ContainerStatus]>, init: bool) -> Vec<ContainerView> {
    let view = |spec: &ContainerSpec| {
        let status = statuses.unwrap_or_default().iter().find(|status| status.name == spec.name);
        let last = status.and_then(|status| status.last_state.as_ref()?.terminated.as_ref());
        let limit = spec.resources.as_ref().and_then(|resources| resources.pointer("/limits/memory")?.as_str());
        ContainerView {
            role: match (init, spec.restart_policy.as_deref()) {
                (true, Some("Always")) => Role::Sidecar,
                (true, _) => Role::Init,
                (false, _) => Role::Main,
            },
            name: spec.name.clone(),
            image: spec.image.clone().unwrap_or_default(),
            memory_limit: limit.map(str::to_owned),
            restarts: status.and_then(|status| u64::try_from(status.restart_count?).ok()).unwrap_or_default(),
            state: status.and_then(|status| status.state.as_ref()).map(state).unwrap_or_default(),
            last: last.map(ended),
        }
    };
    specs.unwrap_or_default().iter().map(view).collect()
}

fn state(state: &StateObject) -> ContainerState {
    if let Some(terminated) = &state.terminated {
        ContainerState::Ended(ended(terminated))
    } else if state.running.is_some() {
        ContainerState::Running
    } else if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().and_then(line).unwrap_or_default();
        ContainerState::Waiting { reason, message: waiting.message.as_deref().and_then(line) }
    } else {
        ContainerState::Unknown
    }
}

fn ended(terminated: &StateDetails) -> Ended {
    Ended {
        // Without an exit code, success cannot be assumed.
        code: terminated.exit_code.unwrap_or(-1),
        reason: terminated.reason.as_deref().and_then(line),
        message: terminated.message.as_deref().and_then(line),
    }
}

/// Returns text for people on one line, with a limited length.
pub(crate) fn line(text: &str) -> Option<String> {
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_MESSAGE) {
        line.truncate(end);
        line.push('…');
    }
    Some(line).filter(|line| !line.is_empty())
}

/// Returns the string at a JSON pointer, or an empty one.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the sorted names of the pods of all plugins in `namespace`, or of one plugin.
///
/// # Errors
/// Returns an error if the pods cannot be listed.
pub async fn plugin_pods(
    cluster: &Cluster,
    namespace: &str,
    plugin: Option<&str>,
) -> Result<Vec<String>, ClusterError> {
    let mut labels = names::plugin_pods_selector();
    if let Some(plugin) = plugin {
        labels.push_str(&format!(",{}={plugin}", names::PLUGIN_LABEL));
    }
    let what = format!("list pods of plugins in namespace `{namespace}`");
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let all = Listing::new(&what, &path);
    // The user waits.
    let listing = Listing { labels: Some(&labels), metadata_only: true, patience: Duration::ZERO, ..all };
    let pods = list(cluster, &listing, |pod| pod.pointer("/metadata/name")?.as_str().map(str::to_owned)).await?;
    // A pod may appear twice if the list changes between two pages.
    Ok(pods.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_of_a_daemon_set_is_meant_for_a_node_before_it_is_assigned() {
        let pod = PodView::read(&json!({
            "metadata": {"name": "p", "labels": {"sonobuoy-run": "s1"}},
            "spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["w2"]}]}]}}}},
            "status": {"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes\nare available"}]},
        }))
        .unwrap();
        assert_eq!((pod.place(), pod.session.as_deref()), (Some("w2"), Some("s1")));
        let unscheduled = pod.unscheduled.unwrap();
        assert_eq!(unscheduled.reason, "Unschedulable");
        assert_eq!(unscheduled.message.as_deref(), Some("0/3 nodes are available"));
    }

    #[test]
    fn the_roles_and_states_of_containers_are_distinguished() {
        let pod = PodView::read(&json!({
            "metadata": {"name": "p"},
            "spec": {"initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
                     "containers": [{"name": "c", "image": "r/c:1", "resources": {"limits": {"memory": "1Mi", "cpu": 2}}}],
                     "ephemeralContainers": [{"name": "e"}]},
            "status": {"initContainerStatuses": [{"name": "s", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
                       "containerStatuses": [{"name": "c", "restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                                              "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
        }))
        .unwrap();
        let roles: Vec<_> = pod.containers.iter().map(|container| container.role).collect();
        assert_eq!(roles, [Role::Init, Role::Sidecar, Role::Main]);
        assert!(pod.containers[1].is_running() && !pod.containers[0].has_run());
        let main = &pod.containers[2];
        assert_eq!((main.restarts, main.memory_limit.as_deref()), (2, Some("1Mi")));
        assert!(main.last.as_ref().unwrap().was_out_of_memory());
        assert_eq!(pod.container_names().collect::<Vec<_>>(), ["i", "s", "c", "e"]);
    }

    #[test]
    fn missing_fields_are_unknown_and_never_a_success() {
        let pod = |status: Value| {
            let object = json!({"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 1_000_000}, "spec": {"containers": [{"name": "c"}]}, "status": status});
            PodView::read(&object).unwrap()
        };
        let ended = pod(json!({"containerStatuses": [{"name": "c", "restartCount": -1, "state": {"terminated": {}}}]}));
        assert_eq!(ended.containers[0].ended().unwrap().code, -1);
        assert_eq!((ended.containers[0].restarts, ended.deleting), (0, Some(MAX_DELETION_GRACE)));
        assert_eq!(pod(json!({})).containers[0].state, ContainerState::Unknown);
    }

    #[test]
    fn other_objects_and_names_that_leave_the_path_are_rejected() {
        let named = |pod: &str, container: &str| {
            PodView::read(&json!({"metadata": {"name": pod}, "spec": {"containers": [{"name": container}]}}))
        };
        assert!(named("p", "c").is_some());
        for (pod, container) in [("../../etc", "c"), ("p", "../x"), ("p", "")] {
            assert_eq!(named(pod, container), None);
        }
        for object in
            [json!(null), json!([]), json!({}), json!({"metadata": {}}), json!({"metadata": {"name": 7}, "spec": {}})]
        {
            assert_eq!(PodView::read(&object), None, "{object}");
        }
    }

    #[test]
    fn long_messages_are_cut() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {}, "status": {"message": "ä".repeat(5000)}});
        assert_eq!(PodView::read(&pod).unwrap().message.unwrap().chars().count(), MAX_MESSAGE + 1);
    }
}
