//! What a run in a cluster is made of: options of `run` and `gen`.

use std::path::PathBuf;

use clap::ValueEnum;
use plumbline_conformance::images::Prefix;
use plumbline_core::config::{
    NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, Toleration,
};

/// Under which heading these options stand.
const HEADING: &str = "Options of runs in a cluster";

/// Options of a run in a cluster. What is not given stays as the configuration has it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ClusterRunArgs {
    /// The configuration, as JSON; other options win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A variable for the containers of a plugin (`sonobuoy`: of the aggregator); an empty value removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE")]
    pub(crate) plugin_env: Vec<String>,
    /// The image of a plugin, in place of its definition's; repeatable
    #[arg(long, value_name = "PLUGIN:IMAGE")]
    pub(crate) plugin_image: Vec<String>,
    /// Whether roles are made; `detect` asks the cluster
    #[arg(long, value_enum, ignore_case = true, value_name = "WHEN")]
    pub(crate) rbac: Option<RbacChoice>,
    /// What the aggregator may do: `minimal` (what this run needs), `namespaceAdmin`, `clusterRead` or `clusterAdmin`
    #[arg(long, value_name = "MODE")]
    pub(crate) aggregator_permissions: Option<Permissions>,
    /// The service account of the aggregator
    #[arg(long, value_name = "NAME")]
    pub(crate) service_account_name: Option<String>,
    /// The service account, and with it the namespace, exists already
    #[arg(long)]
    pub(crate) existing_service_account: bool,
    /// Record the configuration and health of kubelets. The aggregator then gets the permission `nodes/proxy`, which also
    /// allows commands in every container of every node
    #[arg(long)]
    pub(crate) query_kubelets: bool,
    /// A label of the nodes that the aggregator may run on; repeatable
    #[arg(long, value_name = "KEY:VALUE", value_delimiter = ',')]
    pub(crate) aggregator_node_selector: Vec<String>,
    /// How the aggregator is confined: `nonroot`, `platform` (the cluster assigns ids, as OpenShift does) or `none`
    #[arg(long, value_name = "MODE")]
    pub(crate) security_context_mode: Option<SecurityContextMode>,
    /// The Pod Security level of the namespace: `privileged`, `baseline` or `restricted`
    #[arg(long, value_name = "LEVEL")]
    pub(crate) namespace_psa_enforce_level: Option<PodSecurity>,
    /// The image of aggregator and workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Take every image of the run from below this place, without its own registry: `registry.k8s.io/pause:3.9` becomes `PREFIX/pause:3.9`
    /// (`images copy` and `images load` put them there); the suite is told, too
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) registry_prefix: Option<Prefix>,
    /// When it is pulled: `Always`, `IfNotPresent` or `Never`
    #[arg(long, value_name = "POLICY")]
    pub(crate) image_pull_policy: Option<PullPolicy>,
    /// Pull the images of plugins by the same policy, whatever their definitions say
    #[arg(long)]
    pub(crate) force_image_pull_policy: bool,
    /// The version that plugins are told and that stands in their images: `auto` (the cluster's), `latest` (the last build, looked up),
    /// `ignore`, or one such as `v1.30.2`
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<String>,
    /// Write out the default pod of each plugin that has none of its own
    #[arg(long)]
    pub(crate) show_default_podspec: bool,
    /// Keep the run on a volume that outlives the aggregator's pod: `pvc:SIZE` or `pvc:SIZE:CLASS`
    #[arg(long, value_name = "pvc:SIZE[:CLASS]")]
    pub(crate) storage: Option<Storage>,
    /// End the run when names do not resolve in the cluster, or a worker cannot reach the aggregator
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Send the archive to this URL at the end
    #[arg(long, value_name = "URL")]
    pub(crate) upload: Option<String>,
    /// The Secret in the run's namespace with the credentials for `--upload`
    #[arg(long, value_name = "NAME")]
    pub(crate) upload_secret: Option<String>,
    /// How the modules of bundles get to the aggregator; `auto` carries up to 4 MiB, and lets it pull what is more from the registry of
    /// plugins that were named `oci://…`
    #[arg(long, value_enum, ignore_case = true, value_name = "WAY")]
    pub(crate) bundle_delivery: Option<BundleDelivery>,
    /// Whether workers of Job plugins are native sidecars: `auto` (where the cluster has them), `never` or `always`
    #[arg(long, value_name = "WHEN")]
    pub(crate) native_sidecar: Option<NativeSidecar>,
    /// A taint that pods of Job plugins without a `podSpec` tolerate, in place of the default ones:
    /// `gpu`, `gpu=true:NoSchedule`, or `*` for every taint; repeatable
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub(crate) job_toleration: Vec<Toleration>,
}

impl ClusterRunArgs {
    /// The first option that was given and does nothing but change the manifest, as it is written.
    pub(crate) fn changes_manifest(&self) -> Option<&'static str> {
        let all = [
            (!self.plugin_env.is_empty(), "--plugin-env"),
            (!self.plugin_image.is_empty(), "--plugin-image"),
            (self.image.is_some(), "--sonobuoy-image"),
            (self.registry_prefix.is_some(), "--registry"),
            (self.image_pull_policy.is_some(), "--image-pull-policy"),
            (self.force_image_pull_policy, "--force-image-pull-policy"),
            (self.storage.is_some(), "--storage"),
            (self.upload.is_some(), "--upload"),
            (self.upload_secret.is_some(), "--upload-secret"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}

/// How the modules of bundles get to the aggregator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BundleDelivery {
    /// In ConfigMaps while they are small, else from the registry that they were named by
    #[default]
    Auto,
    /// In ConfigMaps, compressed: up to 32 MiB
    ConfigMaps,
    /// The aggregator pulls them from the registry that they were named by
    Registry,
    /// They are in the aggregator's image
    Baked,
}

/// Whether roles are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacChoice {
    /// Always
    Enable,
    /// Never
    Disable,
    /// Where the cluster knows them
    Detect,
}
