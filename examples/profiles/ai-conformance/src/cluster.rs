//! What the API server says about the cluster.

use plumbline_sdk::{Context, ObjectQuery};
use serde_json::Value;

/// The API group of Dynamic Resource Allocation.
pub(crate) const DRA: &str = "resource.k8s.io";
/// The API group of the Gateway API.
pub(crate) const GATEWAY: &str = "gateway.networking.k8s.io";

/// What was read, or why it was not.
pub(crate) type Read<T> = Result<T, String>;

/// An API version that the server serves, or a part of it.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) available: bool,
}

/// A custom resource.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// The plural name with the group, such as `gateways.gateway.networking.k8s.io`.
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) versions: Vec<String>,
    pub(crate) established: bool,
}

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The version of its kubelet, such as `v1.37.2`.
    pub(crate) version: String,
    /// Allocatable resources other than those of Kubernetes.
    pub(crate) extended: Vec<String>,
    pub(crate) labels: Vec<String>,
}

/// Devices of a driver, from ResourceSlices.
#[derive(Debug, Clone)]
pub(crate) struct Devices {
    pub(crate) driver: String,
    pub(crate) count: usize,
    pub(crate) attributes: Vec<String>,
    /// Whether parts of devices are devices too.
    pub(crate) partitionable: bool,
}

/// A GatewayClass.
#[derive(Debug, Clone)]
pub(crate) struct GatewayClass {
    pub(crate) name: String,
    pub(crate) controller: String,
    pub(crate) accepted: bool,
}

/// A Deployment or DaemonSet.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) ready: bool,
}

/// The cluster, as far as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) served: Read<Vec<Served>>,
    pub(crate) resources: Read<Vec<Resource>>,
    pub(crate) nodes: Read<Vec<Node>>,
    pub(crate) device_classes: Read<Vec<String>>,
    pub(crate) devices: Read<Vec<Devices>>,
    pub(crate) gateway_classes: Read<Vec<GatewayClass>>,
    /// The handlers of RuntimeClasses.
    pub(crate) handlers: Read<Vec<String>>,
    pub(crate) workloads: Read<Vec<Workload>>,
    /// API groups with admission webhooks.
    pub(crate) webhook_groups: Read<Vec<String>>,
}

impl Cluster {
    /// Reads the cluster. What its API server does not serve is empty.
    pub(crate) fn read(context: &mut Context) -> Self {
        let served = list(context, "apiregistration.k8s.io/v1", "apiservices", served);
        let resources = list(context, "apiextensions.k8s.io/v1", "customresourcedefinitions", resource);
        let serves = |group: &str, version: &str| {
            let served = served.as_ref().map_err(Clone::clone)?;
            Ok::<_, String>(served.iter().any(|of| of.group == group && of.version == version && of.available))
        };
        let (dra, gateway) = (serves(DRA, "v1"), serves(GATEWAY, "v1"));
        Self {
            nodes: list(context, "v1", "nodes", node),
            device_classes: optional(&dra, || list(context, "resource.k8s.io/v1", "deviceclasses", name)),
            devices: optional(&dra, || list(context, "resource.k8s.io/v1", "resourceslices", devices)),
            gateway_classes: optional(&gateway, || {
                list(context, "gateway.networking.k8s.io/v1", "gatewayclasses", gateway_class)
            }),
            handlers: list(context, "node.k8s.io/v1", "runtimeclasses", |object| text(object, "/handler").to_owned()),
            workloads: workloads(context),
            webhook_groups: webhook_groups(context),
            served,
            resources,
        }
    }

    /// Returns the custom resources with one of these names or groups.
    pub(crate) fn established(&self, wanted: &[&str]) -> Read<Vec<&Resource>> {
        let resources = self.resources.as_ref().map_err(Clone::clone)?;
        let wanted = |of: &&Resource| wanted.contains(&of.name.as_str()) || wanted.contains(&of.group.as_str());
        Ok(resources.iter().filter(|of| of.established).filter(wanted).collect())
    }

    /// Returns the ready workloads whose name contains one of these texts.
    pub(crate) fn ready(&self, parts: &[&str]) -> Read<Vec<&str>> {
        let workloads = self.workloads.as_ref().map_err(Clone::clone)?;
        let wanted = |of: &&Workload| of.ready && parts.iter().any(|part| of.name.contains(part));
        Ok(workloads.iter().filter(wanted).map(|of| of.name.as_str()).collect())
    }
}

/// Reads what the server serves, and nothing else.
fn optional<T>(served: &Read<bool>, read: impl FnOnce() -> Read<Vec<T>>) -> Read<Vec<T>> {
    match served {
        Ok(true) => read(),
        Ok(false) => Ok(Vec::new()),
        Err(error) => Err(error.clone()),
    }
}

fn list<T>(context: &mut Context, api_version: &str, resource: &str, read: impl Fn(&Value) -> T) -> Read<Vec<T>> {
    let objects = context.list(&ObjectQuery::new(api_version, resource))?;
    objects.map(|object| Ok(read(&object?))).collect()
}

fn workloads(context: &mut Context) -> Read<Vec<Workload>> {
    let deployment = |object: &Value| workload(object, "/status/readyReplicas");
    let mut all = list(context, "apps/v1", "deployments", deployment)?;
    all.extend(list(context, "apps/v1", "daemonsets", |object| workload(object, "/status/numberReady"))?);
    Ok(all)
}

fn webhook_groups(context: &mut Context) -> Read<Vec<String>> {
    let mut groups = Vec::new();
    for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let found = list(context, "admissionregistration.k8s.io/v1", resource, |object| {
            let rules = each(object, "/webhooks").flat_map(|webhook| each(webhook, "/rules"));
            rules.flat_map(|rule| texts(rule, "/apiGroups")).collect::<Vec<_>>()
        })?;
        groups.extend(found.into_iter().flatten());
    }
    Ok(groups)
}

fn served(object: &Value) -> Served {
    Served {
        group: text(object, "/spec/group").to_owned(),
        version: text(object, "/spec/version").to_owned(),
        available: condition(object, "Available"),
    }
}

fn resource(object: &Value) -> Resource {
    let served = |version: &&Value| version.pointer("/served") == Some(&Value::Bool(true));
    Resource {
        name: name(object),
        group: text(object, "/spec/group").to_owned(),
        versions: each(object, "/spec/versions").filter(served).map(name_of_version).collect(),
        established: condition(object, "Established"),
    }
}

fn name_of_version(version: &Value) -> String {
    text(version, "/name").to_owned()
}

fn node(object: &Value) -> Node {
    let keys = |pointer: &str| object.pointer(pointer).and_then(Value::as_object).into_iter().flatten();
    let extended = |(name, count): (&String, &Value)| {
        let own = !name.contains('/') || name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"));
        (!own && count != "0").then(|| name.clone())
    };
    Node {
        name: name(object),
        version: text(object, "/status/nodeInfo/kubeletVersion").to_owned(),
        extended: keys("/status/allocatable").filter_map(extended).collect(),
        labels: keys("/metadata/labels").map(|(key, _)| key.clone()).collect(),
    }
}

fn devices(object: &Value) -> Devices {
    let keys = |device: &Value| {
        let attributes = device.pointer("/attributes").and_then(Value::as_object);
        attributes.map(|all| all.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut attributes: Vec<String> = each(object, "/spec/devices").flat_map(keys).collect();
    attributes.sort();
    attributes.dedup();
    let consumes = |device: &Value| device.pointer("/consumesCounters").is_some();
    Devices {
        driver: text(object, "/spec/driver").to_owned(),
        count: each(object, "/spec/devices").count(),
        attributes,
        partitionable: each(object, "/spec/devices").any(consumes),
    }
}

fn gateway_class(object: &Value) -> GatewayClass {
    GatewayClass {
        name: name(object),
        controller: text(object, "/spec/controllerName").to_owned(),
        accepted: condition(object, "Accepted"),
    }
}

fn workload(object: &Value, ready: &str) -> Workload {
    let ready = object.pointer(ready).and_then(Value::as_u64).unwrap_or_default();
    Workload { name: format!("{}/{}", text(object, "/metadata/namespace"), name(object)), ready: ready > 0 }
}

/// Returns whether a condition of the status is true.
fn condition(object: &Value, kind: &str) -> bool {
    each(object, "/status/conditions").any(|of| text(of, "/type") == kind && text(of, "/status") == "True")
}

fn each<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn texts(object: &Value, pointer: &str) -> Vec<String> {
    each(object, pointer).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn name(object: &Value) -> String {
    text(object, "/metadata/name").to_owned()
}
