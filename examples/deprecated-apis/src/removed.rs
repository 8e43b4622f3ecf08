//! The API versions that Kubernetes has removed, by the minor release of 1.x that stopped serving
//! them. The source is Kubernetes' migration guide for deprecated APIs.

/// An API version of one or more kinds.
pub(crate) struct Removed {
    pub(crate) api_version: &'static str,
    kinds: &'static [&'static str],
    /// The minor release of 1.x that no longer serves it.
    pub(crate) minor: u32,
    /// The API version to use in its place.
    pub(crate) instead: &'static str,
}

const fn removed(
    minor: u32,
    api_version: &'static str,
    kinds: &'static [&'static str],
    instead: &'static str,
) -> Removed {
    Removed { api_version, kinds, minor, instead }
}

const FLOW: &[&str] = &["FlowSchema", "PriorityLevelConfiguration"];
const WEBHOOKS: &[&str] = &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
const ROLES: &[&str] = &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
const STORAGE: &[&str] = &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"];
const WORKLOADS: &[&str] = &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// The removed API versions, the latest first.
const REMOVED: &[Removed] = &[
    removed(32, "flowcontrol.apiserver.k8s.io/v1beta3", FLOW, "flowcontrol.apiserver.k8s.io/v1"),
    removed(29, "flowcontrol.apiserver.k8s.io/v1beta2", FLOW, "flowcontrol.apiserver.k8s.io/v1"),
    removed(27, "storage.k8s.io/v1beta1", &["CSIStorageCapacity"], "storage.k8s.io/v1"),
    removed(26, "flowcontrol.apiserver.k8s.io/v1beta1", FLOW, "flowcontrol.apiserver.k8s.io/v1"),
    removed(26, "autoscaling/v2beta2", &["HorizontalPodAutoscaler"], "autoscaling/v2"),
    removed(25, "autoscaling/v2beta1", &["HorizontalPodAutoscaler"], "autoscaling/v2"),
    removed(25, "batch/v1beta1", &["CronJob"], "batch/v1"),
    removed(25, "discovery.k8s.io/v1beta1", &["EndpointSlice"], "discovery.k8s.io/v1"),
    removed(25, "events.k8s.io/v1beta1", &["Event"], "events.k8s.io/v1"),
    removed(25, "node.k8s.io/v1beta1", &["RuntimeClass"], "node.k8s.io/v1"),
    removed(25, "policy/v1beta1", &["PodDisruptionBudget"], "policy/v1"),
    removed(25, "policy/v1beta1", &["PodSecurityPolicy"], "Pod Security admission"),
    removed(22, "admissionregistration.k8s.io/v1beta1", WEBHOOKS, "admissionregistration.k8s.io/v1"),
    removed(22, "apiextensions.k8s.io/v1beta1", &["CustomResourceDefinition"], "apiextensions.k8s.io/v1"),
    removed(22, "apiregistration.k8s.io/v1beta1", &["APIService"], "apiregistration.k8s.io/v1"),
    removed(22, "certificates.k8s.io/v1beta1", &["CertificateSigningRequest"], "certificates.k8s.io/v1"),
    removed(22, "coordination.k8s.io/v1beta1", &["Lease"], "coordination.k8s.io/v1"),
    removed(22, "extensions/v1beta1", &["Ingress"], "networking.k8s.io/v1"),
    removed(22, "networking.k8s.io/v1beta1", &["Ingress", "IngressClass"], "networking.k8s.io/v1"),
    removed(22, "rbac.authorization.k8s.io/v1beta1", ROLES, "rbac.authorization.k8s.io/v1"),
    removed(22, "scheduling.k8s.io/v1beta1", &["PriorityClass"], "scheduling.k8s.io/v1"),
    removed(22, "storage.k8s.io/v1beta1", STORAGE, "storage.k8s.io/v1"),
    removed(16, "apps/v1beta2", WORKLOADS, "apps/v1"),
    removed(16, "apps/v1beta1", &["Deployment", "ReplicaSet", "StatefulSet"], "apps/v1"),
    removed(16, "extensions/v1beta1", &["DaemonSet", "Deployment", "ReplicaSet"], "apps/v1"),
    removed(16, "extensions/v1beta1", &["NetworkPolicy"], "networking.k8s.io/v1"),
];

/// Returns the release that removed an API version of a kind, if it is `target` or an earlier one.
pub(crate) fn of_kind(api_version: &str, kind: &str, target: u32) -> Option<&'static Removed> {
    let is_it = |one: &&Removed| one.api_version == api_version && one.kinds.contains(&kind);
    REMOVED.iter().filter(|one| one.minor <= target).find(is_it)
}

/// Returns the minor release of `v1.32` or `1.32`.
pub(crate) fn parse_minor(version: &str) -> Result<u32, String> {
    let minor = version.strip_prefix('v').unwrap_or(version).strip_prefix("1.");
    minor
        .and_then(|minor| minor.parse().ok())
        .ok_or_else(|| format!("invalid option `target`: `{version}`: expected a release such as `v1.32`"))
}
