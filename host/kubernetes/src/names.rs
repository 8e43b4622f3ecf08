//! Names on which other programs rely: labels, annotations, objects and paths (docs/protocol.md,
//! "In a cluster").

use plumbline_core::{Definition, Driver, PluginName};

/// Label on every object of a run, with the value [`COMPONENT_VALUE`].
pub const COMPONENT_LABEL: &str = "component";
/// The value of [`COMPONENT_LABEL`], independent of the name of the namespace.
pub const COMPONENT_VALUE: &str = "sonobuoy";
/// Label that distinguishes the aggregator's pod ([`AGGREGATOR`]) from pods of plugins
/// ([`PLUGIN`]).
pub const ROLE_LABEL: &str = "sonobuoy-component";
/// The value of [`ROLE_LABEL`] on the aggregator's pod.
pub const AGGREGATOR: &str = "aggregator";
/// The value of [`ROLE_LABEL`] on pods and DaemonSets of plugins.
pub const PLUGIN: &str = "plugin";
/// Label and annotation with the name of a plugin.
pub const PLUGIN_LABEL: &str = "sonobuoy-plugin";
/// Label with the session ID, which identifies one execution of one plugin.
pub const SESSION_LABEL: &str = "sonobuoy-run";
/// Annotation with the driver, spelled as in the definition.
pub const DRIVER_ANNOTATION: &str = "sonobuoy-driver";
/// Label on the pods of the aggregator and of plugins, with the value [`TIER_VALUE`].
pub const TIER_LABEL: &str = "tier";
/// The value of [`TIER_LABEL`].
pub const TIER_VALUE: &str = "analysis";
/// Label on cluster-wide objects (roles and bindings) with the namespace of their run.
pub const NAMESPACE_LABEL: &str = "namespace";
/// Label of the aggregator's pod in old versions. Plumbline searches for it but never sets it.
pub const LEGACY_AGGREGATOR_LABEL: (&str, &str) = ("run", "sonobuoy-master");
/// Label of a namespace that was created for a run. Only such a namespace is deleted with the run.
pub const OWNED_LABEL: &str = "plumbline.dev/run-namespace";

/// Annotation on the aggregator's pod with the status, under the key that every client reads.
pub const STATUS_ANNOTATION: &str = "sonobuoy.hept.io/status";
/// Annotation with the same status, under the key that Sonobuoy's documentation names.
pub const STATUS_ANNOTATION_ALIAS: &str = "sonobuoy.heptio.com/status";
/// Annotation on plugin pods with the last known state of their worker.
pub const WORKER_STATUS_ANNOTATION: &str = "sonobuoy.heptio.com/status.worker";

/// The default namespace of a run.
pub const DEFAULT_NAMESPACE: &str = "sonobuoy";
/// The name of the aggregator's pod.
pub const AGGREGATOR_POD: &str = "sonobuoy";
/// The name of the aggregator's container.
pub const AGGREGATOR_CONTAINER: &str = "kube-sonobuoy";
/// The name of the worker's container in plugin pods.
pub const WORKER_CONTAINER: &str = "sonobuoy-worker";
/// The environment variable for the worker's `--sleep`. Sonobuoy's workers ignore it.
pub const WORKER_SLEEP_VARIABLE: &str = "PLUMBLINE_WORKER_SLEEP";
/// The name of the Service in front of the aggregator.
pub const AGGREGATOR_SERVICE: &str = "sonobuoy-aggregator";
/// The name of the NetworkPolicy that controls access to the aggregator.
pub const NETWORK_POLICY: &str = "plumbline-aggregator";
/// The default service account of the aggregator.
pub const SERVICE_ACCOUNT: &str = "sonobuoy-serviceaccount";
/// The service account of plugins without permissions, and the name prefix of the service account,
/// Role and RoleBinding of other plugins.
pub const PLUGIN_ACCOUNT: &str = "plumbline-plugin";
/// The service account of plugins if the run creates none. It exists in every namespace.
pub const EXISTING_PLUGIN_ACCOUNT: &str = "default";
/// ConfigMap with `config.json`.
pub const CONFIG_MAP: &str = "sonobuoy-config-cm";
/// ConfigMap with `plugin-0.yaml`, ...
pub const PLUGINS_CONFIG_MAP: &str = "sonobuoy-plugins-cm";
/// Secret with the run's CA, so that workers still trust a restarted aggregator.
pub const CA_SECRET: &str = "plumbline-ca";
/// Secret with the certificates of the workers of all plugins.
pub const CERTIFICATES_SECRET: &str = "plumbline-certificates";
/// Annotation with the ID of the run that an object belongs to.
pub const RUN_ANNOTATION: &str = "plumbline.dev/run";
/// ConfigMap with the full status, compressed, if the annotation holds only a summary.
pub const STATUS_CONFIG_MAP: &str = "plumbline-status";
/// The CronJob of scheduled runs, and the ConfigMap with the time of the last one.
pub const SCHEDULE: &str = "plumbline-schedule";
/// Label of Kubernetes on the pods of a Job.
pub const JOB_LABEL: &str = "batch.kubernetes.io/job-name";
/// The environment variable of a scheduled aggregator with the name of its Job.
pub const JOB_VARIABLE: &str = "PLUMBLINE_JOB";
/// Label of Kubernetes on the pods of a Job, with the UID of the Job.
pub const JOB_UID_LABEL: &str = "batch.kubernetes.io/controller-uid";
/// The environment variable of a scheduled aggregator with the UID of its Job.
pub const JOB_UID_VARIABLE: &str = "PLUMBLINE_JOB_UID";
/// Name prefix of ConfigMaps with the modules of bundles.
pub const MODULES_CONFIG_MAP: &str = "plumbline-modules";

/// Name prefix of ConfigMaps with the check of a plugin.
pub const CHECK_CONFIG_MAP: &str = "plumbline-check";

/// The path of the binary in the image. Other tools call it by this path.
pub const BINARY: &str = "/sonobuoy";
/// The directory in which the aggregator keeps the run and its archive.
pub const AGGREGATOR_DIR: &str = "/tmp/sonobuoy";
/// The mount point of the aggregator's ConfigMap.
pub const CONFIG_DIR: &str = "/etc/sonobuoy";
/// The mount point of the definitions in the aggregator.
pub const PLUGINS_DIR: &str = "/plugins.d";
/// The mount point of the modules of bundles in the aggregator.
pub const MODULES_DIR: &str = "/modules.d";
/// The directory of the bundles that are built into the aggregator's image, each in a directory
/// named after its plugin.
pub const BAKED_BUNDLES_DIR: &str = "/usr/share/plumbline/bundles";
/// The mount point of the image pull Secret, in an aggregator that downloads bundles.
pub const PULL_SECRET_DIR: &str = "/etc/plumbline/pull-secret";
/// The default results directory, which plugin and worker share.
pub const RESULTS_DIR: &str = "/tmp/sonobuoy/results";
/// The mount point of the `config-map` of a definition.
pub const PLUGIN_CONFIG_DIR: &str = "/tmp/sonobuoy/config";
/// The volume that plugin and worker share.
pub const RESULTS_VOLUME: &str = "results";
/// The aggregator's port.
pub const AGGREGATOR_PORT: u16 = 8080;

/// Items of `Resources` in a configuration that are not resources.
pub(crate) const NOT_RESOURCES: [&str; 3] = ["podlogs", "servergroups", "serverversion"];

/// The prefix of a status's archive URL if the upload failed. The reason follows it.
pub const NOT_DELIVERED: &str = "failed: ";

/// Returns the name of the pod or DaemonSet that executes a plugin.
pub(crate) fn workload(plugin: &PluginName, driver: Driver, session: &str) -> String {
    let word = if driver.is_per_node() { "daemon-set" } else { "job" };
    format!("sonobuoy-{plugin}-{word}-{session}")
}

/// Returns the plugin that a pod executes, from the name of the pod, and whether it has a pod on each
/// node.
///
/// The names are those of `workload`. Session IDs and the ends of names that Kubernetes generates
/// have no `-`.
#[must_use]
pub fn plugin_of_pod(pod: &str) -> Option<(&str, bool)> {
    let (workload, _) = pod.strip_prefix("sonobuoy-")?.rsplit_once('-')?;
    if let Some(plugin) = workload.strip_suffix("-job") {
        return Some((plugin, false));
    }
    let (workload, _) = workload.rsplit_once('-')?;
    Some((workload.strip_suffix("-daemon-set")?, true))
}

/// Returns the name of the plugin's own container.
#[must_use]
pub fn plugin_container(definition: &Definition) -> &str {
    definition.spec.name().unwrap_or("plugin")
}

pub(crate) fn plugin_pods_selector() -> String {
    format!("{COMPONENT_LABEL}={COMPONENT_VALUE},{ROLE_LABEL}={PLUGIN}")
}

/// Maximum length of an object name (a DNS subdomain). With an extension, it still fits into every
/// file system.
const MAX_NAME: usize = 253;

/// Returns true if a name from the server is safe in a path.
///
/// It may contain letters, digits, `-`, `_` and `.`, and must start with a letter or digit. On
/// every server that validates them, names of pods, nodes, namespaces, containers, groups, versions
/// and resources are like this. Anything else (`..`, a slash, NUL) is an attempt to write
/// elsewhere.
pub(crate) fn is_safe_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_pod_says_which_plugin_it_executes() {
        for plugin in ["e2e", "systemd-logs", "a-job-b", "x-daemon-set-y"] {
            let name: PluginName = plugin.parse().unwrap();
            assert_eq!(plugin_of_pod(&workload(&name, Driver::Job, "e26600506d6c420f")), Some((plugin, false)));
            let pod = format!("{}-4twsk", workload(&name, Driver::DaemonSet, "ffed1e6f44474c9e"));
            assert_eq!(plugin_of_pod(&pod), Some((plugin, true)));
        }
        for other in ["sonobuoy", "sonobuoy-aggregator", "coredns-5d78c9869d-4twsk", "sonobuoy-e2e", ""] {
            assert_eq!(plugin_of_pod(other), None, "{other}");
        }
    }

    #[test]
    fn only_plain_names_become_file_names() {
        for name in ["kube-system", "n1.example.org", "v1", "rbac.authorization.k8s.io", "A_b"] {
            assert!(is_safe_name(name), "{name}");
        }
        let long = "x".repeat(254);
        for name in ["", ".", "..", "../x", "a/b", "a\0b", "-x", "a b", "ä", "a\\b", "%2e", &long] {
            assert!(!is_safe_name(name), "{name:?}");
        }
    }
}
