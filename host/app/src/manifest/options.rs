//! Turns the options of a run in a cluster into its configuration, and into the options of its
//! manifest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_conformance::images::{self, Prefix};
use plumbline_conformance::suite;
use plumbline_core::config::{
    Config, NativeSidecar, Permissions, PodSecurity, PullPolicy, SecurityContextMode, Storage, Toleration,
};
use plumbline_core::definition::{Definition, EnvValue};
use plumbline_kubernetes::manifest::{
    DockerConfig, ManifestOptions, ManifestPlugin, Transform, merged, prepare_definition,
};
use plumbline_kubernetes::{ServerVersion, names};
use serde_json::Value;

use crate::context::Context;
use crate::error::{AppError, Explain as _, quoted};
use crate::files::{self, MAX_CREDENTIALS};
use crate::manifest::delivery::{self, BundleDelivery};
use crate::profiles::suite_plugin;
use crate::reruns::Retries;
use crate::signing::admission::bundle_provenance;
use crate::sources::ResolvedPlugin;
use crate::suite::DEFAULT_PULL_SECRET;
use crate::telemetry::TelemetryOptions;

/// The name of the aggregator in `--plugin-env`.
const AGGREGATOR: &str = "sonobuoy";

/// Options of a run in a cluster. Options that are not set keep the value of the configuration.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Cluster run options")]
pub struct ClusterRunOptions {
    /// Configuration as JSON; other options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set a variable in the containers of a plugin (`sonobuoy`: of the aggregator); an empty value
    /// removes it; repeatable
    #[arg(long, value_name = "PLUGIN.KEY=VALUE")]
    pub plugin_env: Vec<String>,
    /// Use this image for a plugin instead of that of its definition; repeatable
    #[arg(long, value_name = "PLUGIN:IMAGE")]
    pub plugin_image: Vec<String>,
    /// Whether to create roles
    #[arg(long, value_enum, ignore_case = true, value_name = "WHEN")]
    pub rbac: Option<RbacChoice>,
    /// Permissions of the aggregator: `minimal` (what this run needs), `namespaceAdmin`,
    /// `clusterRead` or `clusterAdmin`
    #[arg(long, value_name = "MODE")]
    pub aggregator_permissions: Option<Permissions>,
    /// Service account of the aggregator
    #[arg(long, value_name = "NAME")]
    pub service_account_name: Option<String>,
    /// Use an existing service account in an existing namespace
    #[arg(long)]
    pub existing_service_account: bool,
    /// Record the configuration and health of kubelets. This gives the aggregator the permission
    /// `nodes/proxy`, which also allows commands in every container of every node
    #[arg(long)]
    pub query_kubelets: bool,
    /// Label of the nodes that may run the aggregator; repeatable
    #[arg(long, value_name = "KEY:VALUE", value_delimiter = ',')]
    pub aggregator_node_selector: Vec<String>,
    /// Security context of the aggregator: `nonroot`, `platform` (the cluster assigns IDs, as
    /// OpenShift does) or `none`
    #[arg(long, value_name = "MODE")]
    pub security_context_mode: Option<SecurityContextMode>,
    /// Pod Security level of the namespace: `privileged`, `baseline` or `restricted`
    #[arg(long, value_name = "LEVEL")]
    pub namespace_psa_enforce_level: Option<PodSecurity>,
    /// Image of the aggregator and the workers
    #[arg(long = "sonobuoy-image", visible_alias = "image", value_name = "IMAGE")]
    pub image: Option<String>,
    /// Pull every image of the run from this registry or path: `registry.k8s.io/pause:3.9` becomes
    /// `PREFIX/pause:3.9`. `images copy` and `images load` put the images there; the suite uses it
    /// too
    #[arg(long = "registry", value_name = "PREFIX")]
    pub registry_prefix: Option<Prefix>,
    /// When to pull this image: `Always`, `IfNotPresent` or `Never`
    #[arg(long, value_name = "POLICY")]
    pub image_pull_policy: Option<PullPolicy>,
    /// Use the same pull policy for the images of plugins, overriding their definitions
    #[arg(long)]
    pub force_image_pull_policy: bool,
    /// Kubernetes version for plugins and in the names of their images, such as `v1.30.2`. Also
    /// `auto` (the cluster's), `latest` (that of the latest build) or `ignore`
    #[arg(long, alias = "kube-conformance-image-version", value_name = "VERSION")]
    pub kubernetes_version: Option<String>,
    /// Write out the default pod of each plugin that does not define its own
    #[arg(long)]
    pub show_default_podspec: bool,
    /// Keep the run on a volume that outlives the aggregator's pod: `pvc:SIZE` or `pvc:SIZE:CLASS`
    #[arg(long, value_name = "pvc:SIZE[:CLASS]")]
    pub storage: Option<Storage>,
    /// Stop the run if names do not resolve in the cluster, or if a worker cannot reach the
    /// aggregator
    #[arg(long)]
    pub fail_fast: bool,
    /// Upload the archive to this URL at the end
    #[arg(long, value_name = "URL")]
    pub upload: Option<String>,
    /// Secret in the run's namespace with the credentials for `--upload`
    #[arg(long, value_name = "NAME")]
    pub upload_secret: Option<String>,
    /// How the aggregator gets the modules of bundles
    #[arg(long, value_enum, ignore_case = true, value_name = "WAY")]
    pub bundle_delivery: Option<BundleDelivery>,
    /// When the worker of a Job plugin is a native sidecar: `auto` (if the cluster supports it),
    /// `never` or `always`
    #[arg(long, value_name = "WHEN")]
    pub native_sidecar: Option<NativeSidecar>,
    /// Taint that pods of Job plugins without a `podSpec` tolerate, instead of the default ones:
    /// `gpu`, `gpu=true:NoSchedule`, or `*` for every taint; repeatable
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT]")]
    pub job_toleration: Vec<Toleration>,
    /// Metrics and traces.
    #[command(flatten)]
    pub telemetry: TelemetryOptions,
}

/// Whether to create roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RbacChoice {
    /// Always
    Enable,
    /// Never
    Disable,
    /// If the cluster has roles
    Detect,
}

/// What is known of the cluster and of the caller when a manifest is made.
pub struct Circumstances {
    /// The plugins.
    pub plugins: Vec<ResolvedPlugin>,
    /// Reruns of failed tests of one of them.
    pub retries: Option<Retries>,
    /// The log level of the aggregator.
    pub log_level: String,
    /// The version of the cluster, if it was asked.
    pub server: Option<ServerVersion>,
    /// Whether the cluster has roles, if it was asked.
    pub serves_rbac: Option<bool>,
}

/// What the cluster must be asked before a manifest is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Questions {
    /// For its version.
    pub version: bool,
    /// Whether it has roles.
    pub rbac: bool,
}

impl Questions {
    /// Whether there is a question.
    pub fn any(self) -> bool {
        self.version || self.rbac
    }
}

impl ClusterRunOptions {
    /// The first option that only changes the manifest, by its name on the command line.
    pub fn changes_manifest(&self) -> Option<&'static str> {
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
        let own = all.into_iter().find_map(|(given, name)| given.then_some(name));
        own.or_else(|| self.telemetry.changes_manifest())
    }

    /// The configuration of the run: the defaults, overridden by the file, overridden by the
    /// options. The default `namespace` does not override that of the file. A `timeout` of zero
    /// means no limit.
    pub fn config(&self, namespace: &str, timeout: Option<Duration>) -> Result<Config, AppError> {
        let mut config = match &self.config {
            None => Config::default(),
            Some(path) => read_config(path)?,
        };
        if namespace != names::DEFAULT_NAMESPACE {
            namespace.clone_into(&mut config.namespace);
        }
        if let Some(timeout) = timeout {
            config.server.timeout_seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
        }
        set(&mut config.aggregator_permissions, self.aggregator_permissions);
        set(&mut config.service_account_name, self.service_account_name.clone());
        config.existing_service_account |= self.existing_service_account;
        set(&mut config.security_context_mode, self.security_context_mode);
        set(&mut config.namespace_psa_enforce_level, self.namespace_psa_enforce_level);
        set(&mut config.worker_image, self.image.clone());
        config.worker_image = image(&config.worker_image, self.registry_prefix.as_ref());
        set(&mut config.image_pull_policy, self.image_pull_policy);
        config.force_image_pull_policy |= self.force_image_pull_policy;
        let own = &mut config.plumbline;
        set(&mut own.storage, self.storage.clone());
        own.fail_fast |= self.fail_fast;
        own.query_kubelets |= self.query_kubelets;
        set(&mut own.upload_url, self.upload.clone());
        set(&mut own.upload_secret, self.upload_secret.clone());
        set(&mut own.native_sidecar, self.native_sidecar);
        if !self.job_toleration.is_empty() {
            own.job_tolerations = Some(self.job_toleration.clone());
        }
        set(&mut own.kubernetes_version, self.kubernetes_version.clone());
        own.kubernetes_version = fixed_version(&own.kubernetes_version)?;
        self.telemetry.apply(&mut config)?;
        Ok(config)
    }

    /// What the cluster must be asked for this configuration. `detect` says whether it is asked for
    /// roles by default.
    pub fn questions(&self, config: &Config, detect: bool) -> Questions {
        let rbac = self.rbac.map_or(detect, |choice| choice == RbacChoice::Detect);
        Questions { version: config.plumbline.kubernetes_version.is_empty(), rbac }
    }

    /// The options of the manifest: the configuration from [`ClusterRunOptions::config`], and the
    /// plugins as the options change them.
    pub fn manifest_options(
        &self,
        context: &Context,
        mut config: Config,
        circumstances: Circumstances,
    ) -> Result<ManifestOptions, AppError> {
        let Circumstances { plugins: found, log_level, server, serves_rbac, .. } = circumstances;
        if let Some(server) = server.as_ref().filter(|_| config.plumbline.kubernetes_version.is_empty()) {
            config.plumbline.kubernetes_version = server.image_version();
        }
        let docker_config = docker_config(&mut config)?;
        let names: Vec<String> = found.iter().map(|one| one.source.definition.name.to_string()).collect();
        let mut env = self.env_by_plugin(&names)?;
        let images = self.image_by_plugin(&names)?;
        let suite = suite_plugin()?;
        let mut plugins = Vec::new();
        for one in &found {
            let name = one.source.definition.name.as_str();
            if suite == Some(name) {
                append_args(&mut env, &one.source.definition);
            }
            let env = env.get(name).cloned().unwrap_or_default();
            // Before the other transforms, so that they mount the file that this adds.
            let redirected = redirected(&one.source.definition, self.registry_prefix.as_ref(), &env)?;
            let transform = Transform {
                image: images.get(name).map(|from| image(from, self.registry_prefix.as_ref())),
                env,
                show_pod_spec: self.show_default_podspec,
            };
            let definition = prepare_definition(&redirected, &config, &transform)
                .usage_error(format_args!("failed to add plugin `{name}` to the manifest"))
                .hint("correct the definition, or the options for this plugin")?;
            if let Some((source, digest)) = bundle_provenance(one) {
                config.plumbline.plugin_sources.extend(source.map(|source| (name.to_owned(), source)));
                config.plumbline.plugin_bundles.insert(name.to_owned(), digest);
            }
            let modules = one.source.bundle.as_deref().map(delivery::modules).transpose()?.unwrap_or_default();
            plugins.push(ManifestPlugin { definition: Arc::new(definition), modules });
        }
        delivery::deliver(context, self.bundle_delivery.unwrap_or_default(), &found, &mut plugins, &mut config)?;
        // An existing account has an existing namespace, which must not be deleted with the run.
        // The two modes with fewer permissions cannot create one.
        let powerful = matches!(config.aggregator_permissions, Permissions::Minimal | Permissions::ClusterAdmin);
        Ok(ManifestOptions {
            rbac: match self.rbac {
                Some(RbacChoice::Enable) => true,
                Some(RbacChoice::Disable) => false,
                Some(RbacChoice::Detect) | None => serves_rbac.unwrap_or(true),
            },
            create_namespace: powerful && !config.existing_service_account,
            aggregator_node_selector: self.node_selector()?,
            aggregator_env: env.remove(AGGREGATOR).unwrap_or_default(),
            log_level,
            docker_config,
            ..ManifestOptions::new(config, plugins)
        })
    }

    /// The definition as JSON, with the variables of the options.
    pub fn with_env(&self, definition: &Definition) -> Result<Value, AppError> {
        let name = definition.name.as_str();
        let mut env = self.env_by_plugin(&[name.to_owned()])?;
        if suite_plugin()? == Some(name) {
            append_args(&mut env, definition);
        }
        let mut json = definition.to_json();
        if let (Some(over), Some(Value::Object(spec))) = (env.get(name), json.get_mut("spec")) {
            let list = spec.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
            spec.insert("env".to_owned(), Value::Array(merged(list, over)));
        }
        Ok(json)
    }

    /// The variables by plugin. The last dot separates plugin and variable, because only names of
    /// plugins have dots.
    fn env_by_plugin(&self, plugins: &[String]) -> Result<BTreeMap<String, BTreeMap<String, String>>, AppError> {
        let mut env: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for text in &self.plugin_env {
            let wrong = |why: &str| {
                AppError::usage(format!("`--plugin-env {text}` {why}"))
                    .hint("write `PLUGIN.KEY=VALUE`, such as `e2e.E2E_DRYRUN=true`")
            };
            let (left, value) = text.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
            let (plugin, key) = left.rsplit_once('.').ok_or_else(|| wrong("names no plugin"))?;
            if key.is_empty() {
                return Err(wrong("names no variable"));
            }
            if plugin != AGGREGATOR {
                known(plugin, plugins, "--plugin-env")?;
            }
            env.entry(plugin.to_owned()).or_default().insert(key.to_owned(), value.to_owned());
        }
        Ok(env)
    }

    fn image_by_plugin(&self, plugins: &[String]) -> Result<BTreeMap<String, String>, AppError> {
        let mut images = BTreeMap::new();
        for text in &self.plugin_image {
            let Some((plugin, image)) = text.split_once(':').filter(|(_, image)| !image.is_empty()) else {
                return Err(AppError::usage(format!("`--plugin-image {text}` has no image"))
                    .hint("write `PLUGIN:IMAGE`, such as `probe:example.org/probe:v2`"));
            };
            known(plugin, plugins, "--plugin-image")?;
            images.insert(plugin.to_owned(), image.to_owned());
        }
        Ok(images)
    }

    fn node_selector(&self) -> Result<BTreeMap<String, String>, AppError> {
        let pair = |text: &String| {
            let pair = text.split_once(':').or_else(|| text.split_once('='));
            pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| {
                AppError::usage(format!("`--aggregator-node-selector {text}` is not a label"))
                    .hint("write `KEY:VALUE`, such as `kubernetes.io/arch:amd64`")
            })
        };
        self.aggregator_node_selector.iter().map(pair).collect()
    }
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

fn known(plugin: &str, plugins: &[String], option: &str) -> Result<(), AppError> {
    if plugins.iter().any(|name| name == plugin) {
        return Ok(());
    }
    Err(AppError::usage(format!("`{option}` names the plugin `{plugin}`, which is not in this run"))
        .hint(format!("plugins of this run: {}", quoted(plugins))))
}

fn read_config(path: &Path) -> Result<Config, AppError> {
    let wrong = || format!("invalid configuration `{}`", path.display());
    let text = files::read_text(path, plumbline_core::config::MAX_CONFIG_BYTES, &wrong())?;
    Config::over_defaults(&text)
        .map_err(|error| AppError::usage(wrong()).because(&error).hint("see all keys with `plumbline gen config`"))
}

/// Appends the given arguments of the suite to those of the definition, which have the URL for
/// progress.
fn append_args(env: &mut BTreeMap<String, BTreeMap<String, String>>, definition: &Definition) {
    let Some(over) = env.get_mut(definition.name.as_str()) else { return };
    let text = |name: &str| {
        let variable = definition.spec.env().iter().rfind(|variable| variable.name == name);
        variable.and_then(|variable| if let EnvValue::Text(text) = &variable.value { Some(text.clone()) } else { None })
    };
    let separator = over.get(suite::EXTRA_ARGS_SEPARATOR).cloned().or_else(|| text(suite::EXTRA_ARGS_SEPARATOR));
    if let Some(more) = over.get_mut(suite::EXTRA_ARGS) {
        let given = text(suite::EXTRA_ARGS).unwrap_or_default();
        *more = suite::appended(&given, more, separator.as_deref().unwrap_or(" "));
    }
}

/// The version of the options; empty for that of the cluster.
fn fixed_version(text: &str) -> Result<String, AppError> {
    match text {
        "" | "auto" => Ok(String::new()),
        "ignore" | "latest" => Ok(text.to_owned()),
        _ if ServerVersion::parse(text).is_some() => Ok(text.to_owned()),
        _ => Err(AppError::usage(format!("invalid Kubernetes version `{text}`"))
            .hint("write `auto`, `ignore`, `latest`, or a version that begins with `v`, such as `v1.30.2`")),
    }
}

/// The credentials that the configuration names, which become the Secret for pulling images.
fn docker_config(config: &mut Config) -> Result<Option<DockerConfig>, AppError> {
    if config.e2e_docker_config_file.is_empty() {
        return Ok(None);
    }
    if config.image_pull_secrets.is_empty() {
        DEFAULT_PULL_SECRET.clone_into(&mut config.image_pull_secrets);
    }
    let path = Path::new(&config.e2e_docker_config_file);
    let what = format!("failed to read the credentials in `{}` (`E2EDockerConfigFile`)", path.display());
    let json = files::read_text(path, MAX_CREDENTIALS, &what)?;
    Ok(Some(DockerConfig { name: config.image_pull_secrets.clone(), json: json.into_bytes() }))
}

/// Variables that name registries to the suite. If one is set, the prefix does not override it.
const REGISTRY_VARIABLES: [&str; 2] = ["KUBE_TEST_REPO", "KUBE_TEST_REPO_LIST"];

/// The image in the registry `prefix`, if there is one.
fn image(image: &str, prefix: Option<&Prefix>) -> String {
    prefix.map_or_else(|| image.to_owned(), |prefix| images::rewrite(image, prefix))
}

/// The definition with its images in the registry `prefix`. `env` are the variables of the options.
fn redirected<'a>(
    definition: &'a Definition,
    prefix: Option<&Prefix>,
    env: &BTreeMap<String, String>,
) -> Result<Cow<'a, Definition>, AppError> {
    let Some(prefix) = prefix else { return Ok(Cow::Borrowed(definition)) };
    let tell = !REGISTRY_VARIABLES.iter().any(|name| env.get(*name).is_some_and(|value| !value.is_empty()));
    let redirected = images::redirect(definition, prefix, tell)
        .usage_error(format_args!("failed to redirect the images of plugin `{}` to `{prefix}`", definition.name))
        .hint("correct the image in the definition")?;
    Ok(Cow::Owned(redirected))
}
