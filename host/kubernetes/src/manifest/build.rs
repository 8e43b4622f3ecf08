//! Builds the objects of a run. Those of the aggregator itself are in [`super::aggregator`].

use k8s_openapi::ByteString;
use plumbline_core::config::{PodSecurity, Storage};
use plumbline_core::definition::{K8S_VERSION_VARIABLE, check_set};
use plumbline_core::{Config, Definition, Driver};
use serde_json::{Map, Value, json};

use super::error::{MAX_CONFIG_MAP_BYTES, ManifestError};
use super::options::{DockerConfig, ManifestOptions, ManifestPlugin};
use super::prepare::config_map_name;
use super::yaml::to_document;
use super::{aggregator, cron_job, modules, rbac};
use crate::driver::{DriverError, PluginAccount, reads_files, reserved_secret};
use crate::names;
use crate::parts::{names_of, object, put, without_nulls};

/// Maximum length of a namespace name (DNS-1123 label).
const MAX_NAMESPACE: usize = 63;

/// Maximum length of most other object names (DNS-1123 subdomain).
const MAX_NAME: usize = 253;

/// Returns the objects of a run in the order in which to apply them.
///
/// The order is: namespace, service accounts, credentials, roles, configuration, plugins, modules,
/// storage, network policy, aggregator (or its schedule), service.
///
/// # Errors
/// Returns [`ManifestError`], which names the plugin or setting.
pub fn manifest(options: &ManifestOptions) -> Result<Vec<Value>, ManifestError> {
    let config = &cron_job::with_deadline(&options.config);
    check(options)?;
    let mut objects = Vec::new();
    if options.create_namespace {
        objects.push(namespace(config));
    }
    if !config.existing_service_account {
        objects.extend(accounts(options));
    }
    let secret = |name: &str, kind: &str, key: &str, content: &[u8]| {
        object(
            &config.namespace,
            "v1",
            "Secret",
            name,
            json!({"type": kind, "data": {key: ByteString(content.to_vec())}}),
        )
    };
    if let Some(DockerConfig { name, json }) = &options.docker_config {
        objects.push(secret(name, "kubernetes.io/dockerconfigjson", ".dockerconfigjson", json));
    }
    if options.rbac {
        objects.extend(rbac::aggregator_roles(options));
        objects.extend(rbac::plugin_roles(options)?);
    }
    objects.push(configuration(config)?);
    // Sonobuoy encodes the key twice and omits the namespace, so that no plugin can use it. This
    // Secret is usable.
    let ssh_key = options.ssh_key.as_ref().filter(|_| !config.skip_plugins);
    objects.extend(ssh_key.map(|key| secret("ssh-key", "Opaque", "id_rsa", key)));
    for (name, values) in options.secrets.iter().filter(|_| !config.skip_plugins) {
        let encoded = |(key, value): (&String, &String)| (key.clone(), json!(ByteString(value.clone().into_bytes())));
        let data: Map<String, Value> = values.iter().map(encoded).collect();
        let body = json!({"type": "Opaque", "data": data});
        objects.push(object(&config.namespace, "v1", "Secret", name, body));
    }

    let plugins = options.sorted_plugins();
    let definitions = definitions(config, &plugins)?;
    let files = files(config, &plugins)?;
    let modules = modules::pack(config, &plugins)?;
    let pod = aggregator::pod(options, &names_of(&definitions), &names_of(&modules));
    objects.extend(definitions.into_iter().chain(files).chain(modules));
    if let Storage::Claim { size, class } = &config.plumbline.storage {
        objects.push(aggregator::claim(config, size, class.as_deref()));
    }
    let run = match &config.plumbline.schedule {
        Some(schedule) => cron_job::cron_job(config, schedule, &pod),
        None => pod,
    };
    objects.extend([aggregator::network_policy(options), run, aggregator::service(config)]);
    Ok(objects)
}

fn accounts(options: &ManifestOptions) -> Vec<Value> {
    let config = &options.config;
    let account = |name: &str| object(&config.namespace, "v1", "ServiceAccount", name, json!({}));
    let mut accounts = vec![account(&config.service_account_name)];
    if !config.skip_plugins {
        // Pods of plugins without permissions get no token, whatever their pod spec says.
        let mut shared = account(plugin_account(config));
        put(&mut shared, "automountServiceAccountToken", json!(false));
        accounts.push(shared);
    }
    accounts.extend(rbac::plugin_accounts(options).iter().map(|name| account(name)));
    accounts
}

/// Returns the service account of plugins without permissions.
///
/// If the run creates no accounts, this is the account that exists in every namespace. Its token is
/// not mounted.
#[must_use]
pub fn plugin_account(config: &Config) -> &'static str {
    match config.existing_service_account {
        true => names::EXISTING_PLUGIN_ACCOUNT,
        false => names::PLUGIN_ACCOUNT,
    }
}

/// Returns the run's namespace, with a label that marks it as created for a run.
///
/// Only such a namespace is deleted with the run, whatever its name. The default Pod Security level
/// is `privileged`, because built-in plugins inspect the host. The aggregator and the workers also
/// run under `restricted`, which works if no plugin needs more.
fn namespace(config: &Config) -> Value {
    let own = &config.plumbline;
    let mut labels = json!(own.namespace_labels);
    put(&mut labels, names::COMPONENT_LABEL, json!(names::COMPONENT_VALUE));
    put(&mut labels, names::OWNED_LABEL, json!("true"));
    put(&mut labels, "pod-security.kubernetes.io/enforce", json!(config.namespace_psa_enforce_level));
    let annotations = Some(&own.namespace_annotations).filter(|all| !all.is_empty());
    let metadata = json!({"name": config.namespace, "labels": labels, "annotations": annotations});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": without_nulls(metadata)})
}

/// Returns the ConfigMap with the configuration.
///
/// The run ID is empty: every run chooses its own, even if the same manifest is applied twice.
fn configuration(config: &Config) -> Result<Value, ManifestError> {
    let config = Config { uuid: String::new(), ..config.clone() };
    let json = config.to_json().map_err(|error| ManifestError::Write(error.to_string()))?;
    Ok(config_map(&config, names::CONFIG_MAP, json!({"config.json": json})))
}

/// Returns the ConfigMaps with the definitions, as `plugin-0.yaml` and so on, in the order of
/// `plugins`.
///
/// Sonobuoy puts all of them into one ConfigMap. Here a full one is followed by another, so that
/// only a single definition can be too large. There is at least one, unless the run skips plugins.
fn definitions(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    if config.skip_plugins {
        return Ok(Vec::new());
    }
    let mut filled = 0;
    let mut maps = vec![Map::new()];
    for (at, plugin) in plugins.iter().enumerate() {
        let definition = &plugin.definition;
        let yaml = to_document(&definition.to_json());
        if yaml.len() > MAX_CONFIG_MAP_BYTES {
            let what = "the definition (with the files under `config-map`)";
            return Err(ManifestError::TooLarge { what, plugin: definition.name.clone(), bytes: yaml.len() });
        }
        if filled + yaml.len() > MAX_CONFIG_MAP_BYTES {
            maps.push(Map::new());
            filled = 0;
        }
        filled += yaml.len();
        if let Some(map) = maps.last_mut() {
            map.insert(format!("plugin-{at}.yaml"), Value::String(yaml));
        }
    }
    let name = |at| match at {
        0 => names::PLUGINS_CONFIG_MAP.to_owned(),
        _ => format!("{}-{at}", names::PLUGINS_CONFIG_MAP),
    };
    Ok(maps.into_iter().enumerate().map(|(at, map)| config_map(config, &name(at), Value::Object(map))).collect())
}

/// Returns the ConfigMaps with the files of plugins, one for each plugin that has any.
///
/// Unlike Sonobuoy's, they are labelled. In a shared namespace they must be found when the run is
/// deleted.
fn files(config: &Config, plugins: &[&ManifestPlugin]) -> Result<Vec<Value>, ManifestError> {
    let mut maps = Vec::new();
    for definition in plugins.iter().map(|plugin| &plugin.definition).filter(|it| !it.config_map.is_empty()) {
        let bytes = definition.config_map.iter().map(|(key, text)| key.len() + text.len()).sum();
        if bytes > MAX_CONFIG_MAP_BYTES {
            let what = "the content of `config-map`";
            return Err(ManifestError::TooLarge { what, plugin: definition.name.clone(), bytes });
        }
        maps.push(config_map(config, &config_map_name(&definition.name), json!(definition.config_map)));
    }
    Ok(maps)
}

fn config_map(config: &Config, name: &str, data: Value) -> Value {
    object(&config.namespace, "v1", "ConfigMap", name, json!({"data": data}))
}

fn check(options: &ManifestOptions) -> Result<(), ManifestError> {
    let config = &options.config;
    check_name("the namespace", &config.namespace, MAX_NAMESPACE, false)?;
    cron_job::check(config)?;
    check_name("the service account", &config.service_account_name, MAX_NAME, true)?;
    if !config.image_pull_secrets.is_empty() {
        check_name("the Secret for pulling images", &config.image_pull_secrets, MAX_NAME, true)?;
    }
    let plugins = options.sorted_plugins();
    let definitions: Vec<_> = plugins.iter().map(|plugin| plugin.definition.as_ref().clone()).collect();
    check_set(&definitions)?;
    check_accounts(&definitions, &config.service_account_name)?;
    for definition in &definitions {
        let plugin = || definition.name.clone();
        if let Some(secret) = reserved_secret(definition) {
            return Err(DriverError::SecretReserved(plugin(), secret).into());
        }
        if definition.driver == Driver::Process {
            return Err(ManifestError::Process(plugin()));
        }
        if definition.plumbline.component.is_some() {
            check_files(definition, config.namespace_psa_enforce_level)?;
            continue;
        }
        let image = definition.spec.image().ok_or_else(|| DriverError::NoImage(plugin()))?;
        if image.contains(K8S_VERSION_VARIABLE) {
            return Err(ManifestError::NoVersion(plugin(), image.to_owned()));
        }
    }
    Ok(())
}

/// Checks that no pod spec names the account of another plugin: the pod would get permissions for
/// which its definition does not ask.
fn check_accounts(definitions: &[Definition], aggregator: &str) -> Result<(), ManifestError> {
    let accounts: Vec<_> = definitions.iter().map(|of| (&of.name, PluginAccount::of(of, aggregator))).collect();
    for (plugin, account) in &accounts {
        let PluginAccount::Named(name) = account else { continue };
        let owner = accounts.iter().find(|(_, other)| matches!(other, PluginAccount::Own(own) if own == name));
        if let Some((owner, _)) = owner {
            return Err(ManifestError::AccountOfOther((*plugin).clone(), name.clone(), (*owner).clone()));
        }
    }
    Ok(())
}

/// Checks that the namespace admits the mounts of a check. The levels below `privileged` do not.
fn check_files(definition: &Definition, level: PodSecurity) -> Result<(), DriverError> {
    match reads_files(definition) && level != PodSecurity::Privileged {
        true => Err(DriverError::CheckFiles(definition.name.clone(), level.to_string())),
        false => Ok(()),
    }
}

/// Checks a name against DNS-1123 as Kubernetes does, but before anything is created.
fn check_name(what: &'static str, name: &str, max: usize, dots: bool) -> Result<(), ManifestError> {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: &u8| edge(Some(b)) || *b == b'-' || (dots && *b == b'.');
    let bytes = name.as_bytes();
    if bytes.len() <= max && edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner) {
        return Ok(());
    }
    Err(ManifestError::Name(what, name.chars().take(100).collect(), max))
}
