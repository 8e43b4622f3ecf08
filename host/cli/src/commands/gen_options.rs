//! From options to what a manifest is made of; shared by `gen` and `run`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use plumbline_app::AppError;
use plumbline_app::signing::packed_provenance;
use plumbline_app::sources::ResolvedPlugin;
use plumbline_conformance::images::{self, Prefix};
use plumbline_conformance::suite;
use plumbline_core::config::{Config, Permissions};
use plumbline_core::definition::{Definition, EnvValue};
use plumbline_kubernetes::manifest::{
    DockerConfig, ManifestOptions, ManifestPlugin, Transform, merged, prepare_definition,
};
use plumbline_kubernetes::{ServerVersion, names};
use serde_json::Value;

use super::gen_delivery::{self, MAX_CREDENTIALS};
use crate::args::{ClusterRunArgs, Level, RbacChoice, Time};
use plumbline_app::Context;

/// The name by which `--plugin-env` means the aggregator.
const AGGREGATOR: &str = "sonobuoy";

/// The Secret for pulling images, if credentials are given and no name.
pub(super) const DEFAULT_PULL_SECRET: &str = "auth-repo-cred";

/// What else decides how a run in a cluster looks.
pub(crate) struct Circumstances {
    /// The plugins.
    pub(crate) found: Vec<ResolvedPlugin>,
    /// How much the log of this command tells.
    pub(crate) level: Level,
    /// The cluster's version, if it was asked.
    pub(crate) server: Option<ServerVersion>,
    /// Whether the cluster knows roles, if it was asked.
    pub(crate) serves_rbac: Option<bool>,
}

/// What a cluster has to be asked before a manifest can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Questions {
    /// Its version.
    pub(crate) version: bool,
    /// Whether it knows roles.
    pub(crate) rbac: bool,
}

impl Questions {
    /// Whether there is anything to ask.
    pub(crate) fn any(self) -> bool {
        self.version || self.rbac
    }
}

impl ClusterRunArgs {
    /// The configuration: defaults, over them the file of `--config`, over that the options. A `namespace` that is the default is one
    /// that nobody gave: then the file's stands. The one that counts is in the result.
    pub(crate) fn config(&self, namespace: &str, timeout: Option<Time>) -> Result<Config, AppError> {
        let mut config = match &self.config {
            None => Config::default(),
            Some(path) => read_config(path)?,
        };
        if namespace != names::DEFAULT_NAMESPACE {
            namespace.clone_into(&mut config.namespace);
        }
        if let Some(timeout) = timeout {
            config.server.timeout_seconds = timeout.limit().map_or(0, |limit| limit.as_secs());
        }
        set(&mut config.aggregator_permissions, self.aggregator_permissions);
        set(&mut config.service_account_name, self.service_account_name.clone());
        config.existing_service_account |= self.existing_service_account;
        set(&mut config.security_context_mode, self.security_context_mode);
        set(&mut config.namespace_psa_enforce_level, self.namespace_psa_enforce_level);
        set(&mut config.worker_image, self.image.clone());
        run_image(&mut config, self.registry_prefix.as_ref());
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
        Ok(config)
    }

    /// What the cluster has to be asked for this configuration; `detect` is what `--rbac` means when it is not given.
    pub(crate) fn questions(&self, config: &Config, detect: bool) -> Questions {
        let rbac = self.rbac.map_or(detect, |choice| choice == RbacChoice::Detect);
        Questions { version: config.plumbline.kubernetes_version.is_empty(), rbac }
    }

    /// What the manifest is made of: the configuration that [`ClusterRunArgs::config`] made, and plugins after their transforms.
    pub(crate) fn manifest_options(
        &self,
        context: &Context,
        mut config: Config,
        circumstances: Circumstances,
    ) -> Result<ManifestOptions, AppError> {
        let Circumstances { found, level, server, serves_rbac } = circumstances;
        if let Some(server) = server.as_ref().filter(|_| config.plumbline.kubernetes_version.is_empty()) {
            config.plumbline.kubernetes_version = server.image_version();
        }
        let docker_config = docker_config(&mut config)?;
        let names: Vec<String> = found.iter().map(|one| one.source.definition.name.to_string()).collect();
        let mut env = self.env_by_plugin(&names)?;
        let images = self.image_by_plugin(&names)?;
        let mut plugins = Vec::new();
        for one in &found {
            let name = one.source.definition.name.as_str();
            if name == suite::PLUGIN {
                append_args(&mut env, &one.source.definition);
            }
            let env = env.get(name).cloned().unwrap_or_default();
            // First, so that a file that is added is mounted like all others.
            let redirected = redirected(&one.source.definition, self.registry_prefix.as_ref(), &env)?;
            let transform = Transform {
                image: images.get(name).map(|from| image(from, self.registry_prefix.as_ref())),
                env,
                show_pod_spec: self.show_default_podspec,
                ..Transform::of(&config)
            };
            let definition = prepare_definition(&redirected, &transform).map_err(|error| {
                AppError::usage(format!("plugin `{name}` cannot be put into a cluster")).because(&error)
            })?;
            if let Some((source, digest)) = packed_provenance(one) {
                config.plumbline.plugin_sources.insert(name.to_owned(), source);
                config.plumbline.plugin_bundles.insert(name.to_owned(), digest);
            }
            let modules = one.source.bundle.as_deref().map(gen_delivery::modules).transpose()?.unwrap_or_default();
            plugins.push(ManifestPlugin { definition: Arc::new(definition), modules });
        }
        gen_delivery::deliver(context, self.bundle_delivery.unwrap_or_default(), &found, &mut plugins, &mut config)?;
        // SourceKind the account is there already, so is its namespace: it is somebody's, and must not be marked as the run's own, which is
        // deleted with the run. The two modes of less power cannot make one.
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
            // An aggregator is looked at from afar: without what happens in its log there is nothing to go by.
            log_level: match level {
                Level::Debug => "debug",
                Level::Trace => "trace",
                _ => "info",
            }
            .to_owned(),
            docker_config,
            server,
            ..ManifestOptions::new(config, plugins)
        })
    }

    /// The definition with what `--plugin-env` says of it.
    pub(crate) fn with_env(&self, definition: &Definition) -> Result<Value, AppError> {
        let name = definition.name.as_str();
        let mut env = self.env_by_plugin(&[name.to_owned()])?;
        if name == suite::PLUGIN {
            append_args(&mut env, definition);
        }
        let mut json = definition.to_json();
        if let (Some(over), Some(Value::Object(spec))) = (env.get(name), json.get_mut("spec")) {
            let list = spec.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
            spec.insert("env".to_owned(), Value::Array(merged(list, over)));
        }
        Ok(json)
    }

    /// `--plugin-env`, by plugin. A plugin's name may have dots; a variable's has none that anybody knows of.
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

    /// `--plugin-image`, by plugin.
    fn image_by_plugin(&self, plugins: &[String]) -> Result<BTreeMap<String, String>, AppError> {
        let mut images = BTreeMap::new();
        for text in &self.plugin_image {
            let Some((plugin, image)) = text.split_once(':').filter(|(_, image)| !image.is_empty()) else {
                return Err(AppError::usage(format!("`--plugin-image {text}` names no image"))
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
    let names: Vec<_> = plugins.iter().map(|name| format!("`{name}`")).collect();
    Err(AppError::usage(format!("`{option}` names the plugin `{plugin}`, which is not in this run"))
        .hint(format!("plugins of this run: {}", names.join(", "))))
}

fn read_config(path: &Path) -> Result<Config, AppError> {
    let wrong = || format!("invalid configuration `{}`", path.display());
    let text = gen_delivery::text(path, plumbline_core::config::MAX_CONFIG_BYTES, &wrong())?;
    Config::over_defaults(&text).map_err(|error| {
        AppError::usage(wrong()).because(&error).hint("`plumbline gen config` prints one with every key")
    })
}

/// Arguments for the suite that somebody gives by its variable are appended: without the address in front of them nobody hears of progress.
fn append_args(env: &mut BTreeMap<String, BTreeMap<String, String>>, definition: &Definition) {
    let Some(over) = env.get_mut(suite::PLUGIN) else { return };
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

/// Empty for the cluster's own version.
fn fixed_version(text: &str) -> Result<String, AppError> {
    let wrong = |hint: &str| Err(AppError::usage(format!("`{text}` is not a version of Kubernetes")).hint(hint));
    match text {
        "" | "auto" => Ok(String::new()),
        "ignore" | "latest" => Ok(text.to_owned()),
        _ if ServerVersion::parse(text).is_some() => Ok(text.to_owned()),
        _ => wrong("write `auto`, `ignore`, `latest`, or a version that begins with `v`, such as `v1.30.2`"),
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
    let what = format!("credentials in `{}`, which `E2EDockerConfigFile` names, cannot be used", path.display());
    let json = gen_delivery::text(path, MAX_CREDENTIALS, &what)?;
    Ok(Some(DockerConfig { name: config.image_pull_secrets.clone(), json: json.into_bytes() }))
}

/// Variables by which a person tells the suite of registries: then it is not told otherwise.
pub(super) const TOLD: [&str; 2] = ["KUBE_TEST_REPO", "KUBE_TEST_REPO_LIST"];

/// An image below `prefix`, if there is one.
pub(crate) fn image(image: &str, prefix: Option<&Prefix>) -> String {
    prefix.map_or_else(|| image.to_owned(), |prefix| images::rewrite(image, prefix))
}

/// The image of aggregator and workers below `prefix`.
pub(crate) fn run_image(config: &mut Config, prefix: Option<&Prefix>) {
    config.worker_image = image(&config.worker_image, prefix);
}

/// A definition with its images below `prefix`; `env` is what the command line adds to its environment.
pub(crate) fn redirected<'a>(
    definition: &'a Definition,
    prefix: Option<&Prefix>,
    env: &BTreeMap<String, String>,
) -> Result<Cow<'a, Definition>, AppError> {
    let Some(prefix) = prefix else { return Ok(Cow::Borrowed(definition)) };
    let tell = !TOLD.iter().any(|name| env.get(*name).is_some_and(|value| !value.is_empty()));
    let redirected = images::redirect(definition, prefix, tell).map_err(|error| {
        AppError::usage(format!("plugin `{}` cannot get its images from `{prefix}`", definition.name)).because(&error)
    })?;
    Ok(Cow::Owned(redirected))
}
