//! What the API server shows about each requirement.
//!
//! A query shows what is there, and not that it works. So it satisfies only requirements whose
//! subject is an API: `dra_support` and `ai_inference`. For all others, it says what a test or the
//! vendor must show.

use crate::checklist::{Checklist, Requirement};
use crate::cluster::{Cluster, DRA, Devices, GATEWAY, Read, Resource};

/// What the cluster shows about a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The requirement is met.
    Met(String),
    /// What the requirement needs is there. Whether it works is another question.
    Present(String),
    /// What the requirement needs is not there. A platform may meet the requirement elsewhere, or
    /// let users install it.
    Absent(String),
    /// The requirement is not met.
    Missing(String),
    /// Objects could not be read.
    Unread(String),
}

impl Seen {
    /// Returns what was found, or the cause of an error.
    pub(crate) fn text(&self) -> &str {
        let (Self::Met(text) | Self::Present(text) | Self::Absent(text) | Self::Missing(text) | Self::Unread(text)) =
            self;
        text
    }
}

/// Resources that device plugins register for accelerators, and drivers of other devices.
const ACCELERATORS: [&str; 8] = [
    "nvidia.com/",
    "amd.com/gpu",
    "gpu.intel.com/",
    "habana.ai/",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "huawei.com/",
    "cambricon.com/",
];
const OTHER_DRIVERS: [&str; 3] = ["dra.net", "dra.cpu", "sriovnetwork.k8snetworkplumbingwg.io"];

/// Looks at what the cluster shows about `requirement`.
pub(crate) fn look(requirement: &Requirement, checklist: &Checklist, cluster: &Cluster) -> Seen {
    let seen = match requirement.id {
        "dra_support" => dra(checklist, cluster),
        "driver_runtime_management" => driver_versions(cluster),
        "gpu_sharing" => shared(cluster),
        "ai_inference" => gateways(cluster),
        "advanced_inference_ingress" => custom(
            cluster,
            "inference pools",
            &["inferencepools.inference.networking.k8s.io", "inference.networking.x-k8s.io"],
        ),
        "high_performance_networking" => networks(cluster),
        "gang_scheduling" => gangs(cluster),
        "cluster_autoscaling" => autoscalers(cluster),
        "pod_autoscaling" => custom_metrics(cluster),
        "accelerator_metrics" => exporters(cluster),
        "ai_service_metrics" => custom(
            cluster,
            "collection of metrics",
            &[
                "servicemonitors.monitoring.coreos.com",
                "podmonitors.monitoring.coreos.com",
                "monitoring.googleapis.com",
                "opentelemetrycollectors.opentelemetry.io",
            ],
        ),
        "secure_accelerator_access" => accelerators(cluster),
        "workload_sandboxing" => sandboxes(cluster),
        "robust_controller" => operators(cluster),
        _ => Ok(Seen::Absent("no object of a cluster shows it".to_owned())),
    };
    seen.unwrap_or_else(Seen::Unread)
}

/// The API of Dynamic Resource Allocation. It became stable in v1.34.
fn dra(checklist: &Checklist, cluster: &Cluster) -> Read<Seen> {
    let served = cluster.served.as_ref().map_err(Clone::clone)?;
    let versions: Vec<&str> =
        served.iter().filter(|of| of.group == DRA && of.available).map(|of| of.version.as_str()).collect();
    if versions.is_empty() || (checklist.minor() >= 34 && !versions.contains(&"v1")) {
        let found = if versions.is_empty() { "no version".to_owned() } else { format!("only {}", versions.join(", ")) };
        return Ok(Seen::Missing(format!("the API server serves {found} of {DRA}")));
    }
    let classes = cluster.device_classes.as_ref().map_err(Clone::clone)?.len();
    let devices: usize = all_devices(cluster)?.iter().map(|of| of.count).sum();
    let versions = versions.join(", ");
    Ok(Seen::Met(format!("the API server serves {DRA} in {versions}; device classes: {classes}, devices: {devices}")))
}

/// The Gateway API with an accepted class.
fn gateways(cluster: &Cluster) -> Read<Seen> {
    let resources = cluster.resources.as_ref().map_err(Clone::clone)?;
    for plural in ["gatewayclasses", "gateways", "httproutes"] {
        let name = format!("{plural}.{GATEWAY}");
        let stable = |of: &&Resource| of.established && of.versions.iter().any(|version| version == "v1");
        if !resources.iter().filter(stable).any(|of| of.name == name) {
            return Ok(Seen::Missing(format!("the API server does not serve `{name}` in v1")));
        }
    }
    let classes = cluster.gateway_classes.as_ref().map_err(Clone::clone)?;
    let accepted: Vec<String> = classes
        .iter()
        .filter(|class| class.accepted)
        .map(|class| format!("`{}` of {}", class.name, class.controller))
        .collect();
    Ok(match accepted.is_empty() {
        true => Seen::Missing("the API is served, and no controller accepts a GatewayClass".to_owned()),
        false => Seen::Met(format!("the API server serves {GATEWAY}/v1; accepted classes: {}", accepted.join(", "))),
    })
}

/// Accelerators of nodes: the names of their resources or drivers.
fn accelerators(cluster: &Cluster) -> Read<Seen> {
    let nodes = cluster.nodes.as_ref().map_err(Clone::clone)?;
    let is_accelerator = |name: &&String| ACCELERATORS.iter().any(|prefix| name.starts_with(prefix));
    let mut found: Vec<String> = nodes.iter().flat_map(|node| &node.extended).filter(is_accelerator).cloned().collect();
    let drivers = all_devices(cluster)?.iter().filter(|of| of.count > 0);
    let is_other = |driver: &str| OTHER_DRIVERS.contains(&driver);
    found.extend(drivers.map(|of| of.driver.clone()).filter(|driver| !is_other(driver)));
    Ok(listed("accelerators", found))
}

fn driver_versions(cluster: &Cluster) -> Read<Seen> {
    let drivers = all_devices(cluster)?.iter();
    let versions = |of: &&Devices| of.attributes.iter().any(|name| name.to_lowercase().contains("driverversion"));
    let mut found: Vec<String> = drivers.filter(versions).map(|of| format!("devices of {}", of.driver)).collect();
    let nodes = cluster.nodes.as_ref().map_err(Clone::clone)?;
    let labelled = nodes.iter().flat_map(|node| &node.labels).filter(|label| label.contains("driver-version"));
    found.extend(labelled.map(|label| format!("label `{label}`")));
    Ok(listed("versions of drivers", found))
}

fn shared(cluster: &Cluster) -> Read<Seen> {
    let partitioned = all_devices(cluster)?.iter().filter(|of| of.partitionable);
    let mut found: Vec<String> = partitioned.map(|of| format!("partitionable devices of {}", of.driver)).collect();
    let nodes = cluster.nodes.as_ref().map_err(Clone::clone)?;
    let fraction = |name: &&String| name.contains("/mig-") || name.ends_with(".shared");
    found.extend(nodes.iter().flat_map(|node| &node.extended).filter(fraction).cloned());
    Ok(listed("shared accelerators", found))
}

fn networks(cluster: &Cluster) -> Read<Seen> {
    let drivers = all_devices(cluster)?.iter().filter(|of| of.count > 0 && of.driver != "dra.cpu");
    let network = |driver: &&str| OTHER_DRIVERS.contains(driver);
    let mut found: Vec<String> = drivers.map(|of| of.driver.as_str()).filter(network).map(str::to_owned).collect();
    let attachments = cluster.established(&["network-attachment-definitions.k8s.cni.cncf.io"])?;
    found.extend(attachments.iter().map(|of| of.name.clone()));
    Ok(listed("network devices", found))
}

fn gangs(cluster: &Cluster) -> Read<Seen> {
    let groups = ["kueue.x-k8s.io", "scheduling.volcano.sh", "scheduling.x-k8s.io", "scheduling.run.ai"];
    let mut found: Vec<String> = cluster.established(&groups)?.iter().map(|of| of.group.clone()).collect();
    // `scheduling.k8s.io` has priority classes in v1, and groups of pods in other versions.
    let served = cluster.served.as_ref().map_err(Clone::clone)?;
    let own = served.iter().filter(|of| of.group == "scheduling.k8s.io" && of.version != "v1" && of.available);
    found.extend(own.map(|of| format!("{}/{}", of.group, of.version)));
    Ok(listed("APIs for gang scheduling", found))
}

fn autoscalers(cluster: &Cluster) -> Read<Seen> {
    let ready = cluster.ready(&["cluster-autoscaler", "karpenter"])?;
    let mut found: Vec<String> = ready.into_iter().map(|name| format!("workload `{name}`")).collect();
    found.extend(cluster.established(&["karpenter.sh"])?.iter().map(|of| of.name.clone()));
    Ok(listed("autoscalers of nodes", found))
}

fn custom_metrics(cluster: &Cluster) -> Read<Seen> {
    let served = cluster.served.as_ref().map_err(Clone::clone)?;
    let groups = ["custom.metrics.k8s.io", "external.metrics.k8s.io"];
    let found = served.iter().filter(|of| groups.contains(&of.group.as_str()) && of.available);
    Ok(listed("APIs of custom metrics", found.map(|of| format!("{}/{}", of.group, of.version)).collect()))
}

fn exporters(cluster: &Cluster) -> Read<Seen> {
    let parts = ["dcgm-exporter", "device-metrics-exporter", "xpumanager", "neuron-monitor", "gaudi-metric-exporter"];
    let ready = cluster.ready(&parts)?;
    Ok(listed("exporters of accelerator metrics", ready.into_iter().map(|name| format!("workload `{name}`")).collect()))
}

fn sandboxes(cluster: &Cluster) -> Read<Seen> {
    let handlers = cluster.handlers.as_ref().map_err(Clone::clone)?;
    let known = ["gvisor", "runsc", "kata", "sandbox", "quark", "krun"];
    let found = handlers.iter().filter(|handler| known.iter().any(|part| handler.contains(part)));
    Ok(listed("runtime classes of sandboxes", found.map(|handler| format!("handler `{handler}`")).collect()))
}

fn operators(cluster: &Cluster) -> Read<Seen> {
    let known =
        ["ray.io", "kubeflow.org", "trainer.kubeflow.org", "serving.kserve.io", "kaito.sh", "leaderworkerset.x-k8s.io"];
    let webhooks = cluster.webhook_groups.as_ref().map_err(Clone::clone)?;
    let described = |of: &&Resource| match webhooks.contains(&of.group) {
        true => format!("{} with webhooks", of.name),
        false => of.name.clone(),
    };
    Ok(listed("custom resources of AI operators", cluster.established(&known)?.iter().map(described).collect()))
}

fn custom(cluster: &Cluster, what: &str, wanted: &[&str]) -> Read<Seen> {
    Ok(listed(what, cluster.established(wanted)?.iter().map(|of| of.name.clone()).collect()))
}

fn all_devices(cluster: &Cluster) -> Read<&[Devices]> {
    cluster.devices.as_deref().map_err(Clone::clone)
}

/// Describes what was found, at most ten of each.
fn listed(what: &str, mut found: Vec<String>) -> Seen {
    found.sort();
    found.dedup();
    let more = found.len().saturating_sub(10);
    found.truncate(10);
    match (found.is_empty(), more) {
        (true, _) => Seen::Absent(format!("the cluster has no {what}")),
        (false, 0) => Seen::Present(format!("{what}: {}", found.join(", "))),
        (false, more) => Seen::Present(format!("{what}: {}, and {more} more", found.join(", "))),
    }
}
