//! What a run in a cluster is made of: options of `run` and `gen`.

use std::path::PathBuf;

use clap::ValueEnum;
use plumbline_app::manifest;
use plumbline_conformance::images::Prefix;
use plumbline_core::config::{
    NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, Toleration,
};

/// Heading of these options in `--help`.
const HEADING: &str = "Cluster run options";

/// Options of a run in a cluster. Options that are not given keep the value of the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ClusterRunArgs {
    /// Configuration as JSON; other options override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a variable in the containers of a plugin (`sonobuoy`: of the aggregator); an empty value
    /// removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE")]
    pub(crate) plugin_env: Vec<String>,
    /// Use this image for a plugin instead of that of its definition; repeatable
    #[arg(long, value_name = "PLUGIN:IMAGE")]
    pub(crate) plugin_image: Vec<String>,
    /// Whether to create roles
    #[arg(long, value_enum, ignore_case = true, value_name = "WHEN")]
    pub(crate) rbac: Option<RbacChoice>,
    /// Permissions of the aggregator: `minimal` (what this run needs), `namespaceAdmin`,
    /// `clusterRead` or `clusterAdmin`
    #[arg(long, value_name = "MODE")]
    pub(crate) aggregator_permissions: Option<Permissions>,
    /// Service account of the aggregator
    #[arg(long, value_name = "NAME")]
    pub(crate) service_account_name: Option<String>,
    /// Use an existing service account in an existing namespace
    #[arg(long)]
    pub(crate) existing_service_account: bool,
    /// Record the configuration and health of kubelets. This gives the aggregator the permission
    /// `nodes/proxy`, which also allows commands in every container of every node
    #[arg(long)]
    pub(crate) query_kubelets: bool,
    /// Label of the nodes that may run the aggregator; repeatable
    #[arg(long, value_name = "KEY:VALUE", value_delimiter = ',')]
    pub(crate) aggregator_node_selector: Vec<String>,
    /// Security context of the aggregator: `nonroot`, `platform` (the cluster assigns ids, as
    /// OpenShift does) or `none`
    #[arg(long, value_name = "MODE")]
    pub(crate) security_context_mode: Option<SecurityContextMode>,
    /// Pod Security level of the namespace: `privileged`, `baseline` or `restricted`
    #[arg(long, value_name = "LEVEL")]
    pub(crate) namespace_psa_enforce_level: Option<PodSecurity>,
    /// Image of the aggregator and the workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Pull every image of the run from this registry or path: `registry.k8s.io/pause:3.9` becomes
    /// `PREFIX/pause:3.9`. `images copy` and `images load` put the images there; the suite uses it
    /// too
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) registry_prefix: Option<Prefix>,
    /// When to pull this image: `Always`, `IfNotPresent` or `Never`
    #[arg(long, value_name = "POLICY")]
    pub(crate) image_pull_policy: Option<PullPolicy>,
    /// Use the same pull policy for the images of plugins, overriding their definitions
    #[arg(long)]
    pub(crate) force_image_pull_policy: bool,
    /// Kubernetes version for plugins and in the names of their images: `auto` (the cluster's),
    /// `latest` (that of the latest build), `ignore`, or one such as `v1.30.2`
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION")]
    pub(crate) kubernetes_version: Option<String>,
    /// Write out the default pod of each plugin that does not define its own
    #[arg(long)]
    pub(crate) show_default_podspec: bool,
    /// Keep the run on a volume that outlives the aggregator's pod: `pvc:SIZE` or `pvc:SIZE:CLASS`
    #[arg(long, value_name = "pvc:SIZE[:CLASS]")]
    pub(crate) storage: Option<Storage>,
    /// Stop the run if names do not resolve in the cluster, or if a worker cannot reach the
    /// aggregator
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Upload the archive to this URL at the end
    #[arg(long, value_name = "URL")]
    pub(crate) upload: Option<String>,
    /// Secret in the run's namespace with the credentials for `--upload`
    #[arg(long, value_name = "NAME")]
    pub(crate) upload_secret: Option<String>,
    /// How the aggregator gets the modules of bundles
    #[arg(long, value_enum, ignore_case = true, value_name = "WAY")]
    pub(crate) bundle_delivery: Option<BundleDelivery>,
    /// When the worker of a Job plugin is a native sidecar: `auto` (if the cluster supports it),
    /// `never` or `always`
    #[arg(long, value_name = "WHEN")]
    pub(crate) native_sidecar: Option<NativeSidecar>,
    /// Taint that pods of Job plugins without a `podSpec` tolerate, instead of the default ones:
    /// `gpu`, `gpu=true:NoSchedule`, or `*` for every taint; repeatable
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub(crate) job_toleration: Vec<Toleration>,
}

impl From<&ClusterRunArgs> for manifest::ClusterRunOptions {
    fn from(args: &ClusterRunArgs) -> Self {
        let args = args.clone();
        Self {
            config: args.config,
            plugin_env: args.plugin_env,
            plugin_image: args.plugin_image,
            rbac: args.rbac.map(Into::into),
            aggregator_permissions: args.aggregator_permissions,
            service_account_name: args.service_account_name,
            existing_service_account: args.existing_service_account,
            query_kubelets: args.query_kubelets,
            aggregator_node_selector: args.aggregator_node_selector,
            security_context_mode: args.security_context_mode,
            namespace_psa_enforce_level: args.namespace_psa_enforce_level,
            image: args.image,
            registry_prefix: args.registry_prefix,
            image_pull_policy: args.image_pull_policy,
            force_image_pull_policy: args.force_image_pull_policy,
            kubernetes_version: args.kubernetes_version,
            show_default_podspec: args.show_default_podspec,
            storage: args.storage,
            fail_fast: args.fail_fast,
            upload: args.upload,
            upload_secret: args.upload_secret,
            bundle_delivery: args.bundle_delivery.unwrap_or_default().into(),
            native_sidecar: args.native_sidecar,
            job_toleration: args.job_toleration,
        }
    }
}

impl From<BundleDelivery> for manifest::BundleDelivery {
    fn from(delivery: BundleDelivery) -> Self {
        match delivery {
            BundleDelivery::Auto => Self::Auto,
            BundleDelivery::ConfigMaps => Self::ConfigMaps,
            BundleDelivery::Registry => Self::Registry,
            BundleDelivery::Baked => Self::Baked,
        }
    }
}

impl From<RbacChoice> for manifest::RbacChoice {
    fn from(choice: RbacChoice) -> Self {
        match choice {
            RbacChoice::Enable => Self::Enable,
            RbacChoice::Disable => Self::Disable,
            RbacChoice::Detect => Self::Detect,
        }
    }
}

/// How the aggregator gets the modules of bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum BundleDelivery {
    /// In ConfigMaps up to 4 MiB, otherwise from the registry (plugins named `oci://…`)
    #[default]
    Auto,
    /// In ConfigMaps, compressed, up to 32 MiB
    ConfigMaps,
    /// From the registry of the plugin's reference
    Registry,
    /// From the aggregator's image
    Baked,
}

/// Whether to create roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacChoice {
    /// Always
    Enable,
    /// Never
    Disable,
    /// If the cluster has roles
    Detect,
}
