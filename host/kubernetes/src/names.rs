//! Names that others rely on: labels, annotations, objects, paths (docs/protocol.md, «In a cluster»).

use plumbline_core::PluginName;

/// Label on everything that belongs to a run: [`COMPONENT_VALUE`].
pub const COMPONENT_LABEL: &str = "component";
/// The value of [`COMPONENT_LABEL`], whatever the namespace is called.
pub const COMPONENT_VALUE: &str = "sonobuoy";
/// Label that tells the aggregator's pod ([`AGGREGATOR`]) from those of plugins ([`PLUGIN`]).
pub const ROLE_LABEL: &str = "sonobuoy-component";
/// The value of [`ROLE_LABEL`] on the aggregator's pod.
pub const AGGREGATOR: &str = "aggregator";
/// The value of [`ROLE_LABEL`] on pods and DaemonSets of plugins.
pub const PLUGIN: &str = "plugin";
/// Label and annotation with the name of a plugin.
pub const PLUGIN_LABEL: &str = "sonobuoy-plugin";
/// Label with the session id: one life of one plugin.
pub const SESSION_LABEL: &str = "sonobuoy-run";
/// Annotation with the driver as the definition writes it.
pub const DRIVER_ANNOTATION: &str = "sonobuoy-driver";
/// Label on aggregator and plugin pods: [`TIER_VALUE`].
pub const TIER_LABEL: &str = "tier";
/// The value of [`TIER_LABEL`].
pub const TIER_VALUE: &str = "analysis";
/// Label on cluster-wide objects (roles and their bindings): the namespace of the run that they belong to.
pub const NAMESPACE_LABEL: &str = "namespace";
/// Label of old aggregator pods; only looked for.
pub const LEGACY_AGGREGATOR_LABEL: (&str, &str) = ("run", "sonobuoy-master");
/// Label that marks a namespace as made for a run: only such a namespace is deleted with the run.
pub const OWNED_LABEL: &str = "plumbline.dev/run-namespace";

/// Annotation on the aggregator's pod: the status, as every client reads it.
pub const STATUS_ANNOTATION: &str = "sonobuoy.hept.io/status";
/// The same under the key that the field's documents name.
pub const STATUS_ANNOTATION_ALIAS: &str = "sonobuoy.heptio.com/status";
/// Annotation on plugin pods: what their worker was heard of last.
pub const WORKER_STATUS_ANNOTATION: &str = "sonobuoy.heptio.com/status.worker";

/// The namespace of a run if nothing else is said.
pub const DEFAULT_NAMESPACE: &str = "sonobuoy";
/// The aggregator's pod.
pub const AGGREGATOR_POD: &str = "sonobuoy";
/// The aggregator's container.
pub const AGGREGATOR_CONTAINER: &str = "kube-sonobuoy";
/// The worker's container in plugin pods.
pub const WORKER_CONTAINER: &str = "sonobuoy-worker";
/// The variable for `--sleep` of a worker. Sonobuoy's workers ignore it.
pub const WORKER_SLEEP_VARIABLE: &str = "PLUMBLINE_WORKER_SLEEP";
/// The Service in front of the aggregator.
pub const AGGREGATOR_SERVICE: &str = "sonobuoy-aggregator";
/// The NetworkPolicy that says who may connect to the aggregator.
pub const NETWORK_POLICY: &str = "plumbline-aggregator";
/// The default service account of the aggregator.
pub const SERVICE_ACCOUNT: &str = "sonobuoy-serviceaccount";
/// The service account of plugins that ask for no permissions, and the prefix of the others.
pub const PLUGIN_ACCOUNT: &str = "plumbline-plugin";
/// The service account of plugins where the run makes no accounts: every namespace has it.
pub const EXISTING_PLUGIN_ACCOUNT: &str = "default";
/// ConfigMap with `config.json`.
pub const CONFIG_MAP: &str = "sonobuoy-config-cm";
/// ConfigMap with `plugin-0.yaml`, ...
pub const PLUGINS_CONFIG_MAP: &str = "sonobuoy-plugins-cm";
/// Secret with the run's authority, so that a restarted aggregator is still trusted.
pub const AUTHORITY_SECRET: &str = "plumbline-authority";
/// Secret with the certificates of the workers of all plugins.
pub const CERTIFICATES_SECRET: &str = "plumbline-certificates";
/// Annotation with the run that an object belongs to.
pub const RUN_ANNOTATION: &str = "plumbline.dev/run";
/// ConfigMap with the status in full, compressed, when the annotation holds a summary.
pub const STATUS_CONFIG_MAP: &str = "plumbline-status";
/// Prefix of ConfigMaps with the modules of bundles.
pub const MODULES_CONFIG_MAP: &str = "plumbline-modules";

/// The binary in the image. Other tools call it by this path.
pub const BINARY: &str = "/sonobuoy";
/// Where the aggregator keeps the run and its archive.
pub const AGGREGATOR_DIR: &str = "/tmp/sonobuoy";
/// Where the aggregator's ConfigMap is mounted.
pub const CONFIG_DIR: &str = "/etc/sonobuoy";
/// Where the definitions are mounted in the aggregator.
pub const PLUGINS_DIR: &str = "/plugins.d";
/// Where the modules of bundles are mounted in the aggregator.
pub const MODULES_DIR: &str = "/modules.d";
/// Where the aggregator's image has the bundles that were baked into it, each in a directory of its plugin's name.
pub const BAKED_BUNDLES_DIR: &str = "/usr/share/plumbline/bundles";
/// Where the Secret for pulling images is mounted in an aggregator that fetches bundles.
pub const PULL_SECRET_DIR: &str = "/etc/plumbline/pull-secret";
/// Where plugin and worker meet if nothing else is said.
pub const RESULTS_DIR: &str = "/tmp/sonobuoy/results";
/// Where the `config-map` of a definition is mounted.
pub const PLUGIN_CONFIG_DIR: &str = "/tmp/sonobuoy/config";
/// The volume that plugin and worker share.
pub const RESULTS_VOLUME: &str = "results";
/// The aggregator's port.
pub const AGGREGATOR_PORT: u16 = 8080;

/// What a status says in the place of the archive's address when it could not be sent; the reason follows.
pub const NOT_DELIVERED: &str = "failed: ";

/// The name of the service account of a plugin with permissions, and of its Role and RoleBinding.
#[must_use]
pub fn plugin_object(plugin: &PluginName) -> String {
    format!("{PLUGIN_ACCOUNT}-{plugin}")
}
