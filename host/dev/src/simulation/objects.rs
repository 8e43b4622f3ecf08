//! Realistic objects in size and structure: nodes, pods of DaemonSets, and their updates.

use jiff::Timestamp;
use plumbline_kubernetes::names;
use serde_json::{Map, Value, json};

/// Number of images on a node: fifty is a kubelet's maximum, and they are most of a node's size.
const IMAGES: usize = 50;

pub(crate) fn node_name(n: usize) -> String {
    format!("node-{n:05}.example")
}

/// Returns a ready node as large as in a real cluster (12 KiB).
pub(crate) fn node(n: usize) -> Value {
    let name = node_name(n);
    let now = Timestamp::now().to_string();
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": format!("Kubelet{kind}"), "message": format!("kubelet has said so: {kind}"),
            "lastHeartbeatTime": now, "lastTransitionTime": now})
    };
    let image = |k: usize| {
        let digest = format!("{:064x}", k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        json!({"names": [format!("registry.example/team/image-{k}@sha256:{digest}"), format!("registry.example/team/image-{k}:v1.{k}.0")],
            "sizeBytes": 10_000_000 + k})
    };
    json!({
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": "m5.large", "topology.kubernetes.io/zone": format!("zone-{}", n % 3),
        }},
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": format!("cloud:///zone/{n}")},
        "status": {
            "conditions": [condition("MemoryPressure", "False"), condition("DiskPressure", "False"),
                condition("PIDPressure", "False"), condition("Ready", "True")],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "capacity": {"cpu": "2", "memory": "8Gi", "pods": "110"},
            "allocatable": {"cpu": "2", "memory": "7Gi", "pods": "110"},
            "nodeInfo": {"operatingSystem": "linux", "architecture": "amd64", "kubeletVersion": "v1.30.2"},
            "images": (0..IMAGES).map(image).collect::<Value>(),
        },
    })
}

/// Updates a node as a kubelet does every few minutes.
pub(super) fn beat(node: &mut Value) {
    let now = Timestamp::now().to_string();
    let conditions = node.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        set(condition, "lastHeartbeatTime", json!(now));
    }
}

/// Returns the unassigned pod that the controller creates from a DaemonSet for a node.
pub(super) fn pod(daemon_set: &Value, n: usize) -> Value {
    let text = |path: &str| daemon_set.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (name, uid) = (text("/metadata/name"), text("/metadata/uid"));
    let template = |path: &str| {
        daemon_set.pointer(&format!("/spec/template/{path}")).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let mut labels = template("metadata/labels");
    labels.insert("controller-revision-hash".to_owned(), json!("6d4b75cb6d"));
    labels.insert("pod-template-generation".to_owned(), json!("1"));
    let mut spec = template("spec");
    spec.insert(
        "affinity".to_owned(),
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name(n)]}]}]}}}),
    );
    json!({
        "metadata": {
            "name": format!("{name}-{n:05}"), "generateName": format!("{name}-"), "namespace": text("/metadata/namespace"),
            "labels": labels, "annotations": template("metadata/annotations"),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": uid,
                "controller": true, "blockOwnerDeletion": true}],
            "managedFields": managed_fields(),
        },
        "spec": spec,
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    })
}

/// Returns managed fields as large as those of a pod with two containers.
fn managed_fields() -> Value {
    let fields = |prefix: &str, count: usize| -> Map<String, Value> {
        (0..count).map(|k| (format!("f:{prefix}-{k:02}"), json!({".": {}, "f:name": {}}))).collect()
    };
    json!([
        {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": fields("label", 10), "f:spec": fields("container", 40)}},
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "subresource": "status",
            "fieldsV1": {"f:status": fields("condition", 20)}},
    ])
}

/// Assigns the pod to a node, as the scheduler does.
pub(super) fn assign(pod: &mut Value, node: &str) {
    if let Some(spec) = pod.pointer_mut("/spec") {
        set(spec, "nodeName", json!(node));
    }
    conditions(pod, &["PodScheduled"]);
}

/// Marks the containers as being created, as the kubelet does.
pub(super) fn create_containers(pod: &mut Value) {
    containers(pod, &json!({"waiting": {"reason": "ContainerCreating"}}), false);
    conditions(pod, &["PodScheduled", "Initialized"]);
}

pub(super) fn run_containers(pod: &mut Value) {
    containers(pod, &json!({"running": {"startedAt": Timestamp::now()}}), true);
    conditions(pod, &["PodScheduled", "Initialized", "ContainersReady", "Ready"]);
    if let Some(status) = pod.pointer_mut("/status") {
        set(status, "phase", json!("Running"));
        set(status, "podIP", json!("10.1.2.3"));
        set(status, "startTime", json!(Timestamp::now()));
    }
}

fn containers(pod: &mut Value, state: &Value, ready: bool) {
    for (spec, status) in [("/spec/containers", "containerStatuses"), ("/spec/initContainers", "initContainerStatuses")]
    {
        let specs = pod.pointer(spec).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let status_of = |spec: &Value| {
            json!({"name": spec.get("name"), "image": spec.get("image"), "imageID": "", "restartCount": 0, "ready": ready,
                "state": state, "lastState": {}})
        };
        let statuses: Vec<Value> = specs.iter().map(status_of).collect();
        if let Some(all) = pod.pointer_mut("/status").filter(|_| !statuses.is_empty()) {
            set(all, status, Value::Array(statuses));
        }
    }
}

fn conditions(pod: &mut Value, met: &[&str]) {
    let list: Vec<Value> = met
        .iter()
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": Timestamp::now(), "lastProbeTime": null}))
        .collect();
    if let Some(status) = pod.pointer_mut("/status") {
        set(status, "conditions", Value::Array(list));
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

pub(crate) fn aggregator_pod(namespace: &str) -> Value {
    json!({
        "metadata": {"name": names::AGGREGATOR_POD, "namespace": namespace, "labels": {
            names::COMPONENT_LABEL: names::COMPONENT_VALUE, names::ROLE_LABEL: names::AGGREGATOR, names::TIER_LABEL: names::TIER_VALUE,
        }},
        "spec": {"containers": [{"name": names::AGGREGATOR_CONTAINER, "image": "plumbline"}]},
        "status": {"phase": "Running"},
    })
}
