//! Builds the objects of a run.

use plumbline_core::config::Storage;
use plumbline_core::definition::{K8S_VERSION_VARIABLE, check_set};
use plumbline_core::{Config, Driver};
use serde_json::Value;

use super::error::ManifestError;
use super::options::{ManifestOptions, ManifestPlugin};
use super::{aggregator, config_maps, modules, objects, rbac};
use crate::driver::reserved_secret;
use crate::names;

/// Maximum length of a namespace name (DNS-1123 label).
const MAX_NAMESPACE: usize = 63;

/// Maximum length of most other object names (DNS-1123 subdomain).
const MAX_NAME: usize = 253;

/// Returns the objects of a run in the order in which to apply them.
///
/// The order is: namespace, service accounts, credentials, roles, configuration, plugins, modules,
/// storage, network policy, aggregator, service.
///
/// # Errors
/// Returns [`ManifestError`], which names the plugin or setting.
pub fn manifest(options: &ManifestOptions) -> Result<Vec<Value>, ManifestError> {
    let config = &options.config;
    check_name("the namespace", &config.namespace, MAX_NAMESPACE, false)?;
    check_name("the service account", &config.service_account_name, MAX_NAME, true)?;
    if !config.image_pull_secrets.is_empty() {
        check_name("the Secret for pulling images", &config.image_pull_secrets, MAX_NAME, true)?;
    }
    check_plugins(&options.plugins)?;

    let mut documents = Vec::new();
    if options.create_namespace {
        documents.push(objects::namespace(config));
    }
    if !config.existing_service_account {
        documents.push(objects::service_account(config, &config.service_account_name));
        documents.push(objects::plugin_account(config, plugin_account(config)));
        documents.extend(rbac::plugin_accounts(options));
    }
    documents.extend(options.docker_config.as_ref().map(|docker| objects::docker_config(config, docker)));
    if options.rbac {
        documents.extend(rbac::objects(config, &rbac::Needs::of(options)));
        documents.extend(rbac::plugin_roles(options)?);
    }
    documents.push(config_maps::config(options)?);
    documents.extend(options.ssh_key.as_ref().map(|key| objects::ssh_key(config, key)));

    let mut plugins: Vec<&ManifestPlugin> = options.plugins.iter().collect();
    plugins.sort_by_key(|plugin| plugin.definition.name.as_str());
    let definitions = config_maps::definitions(config, &plugins)?;
    let plugin_maps = names_of(&definitions);
    documents.extend(definitions);
    documents.extend(config_maps::files(config, &plugins)?);
    let modules = modules::pack(config, &plugins)?;
    let module_maps = names_of(&modules);
    documents.extend(modules);
    if let Storage::Claim { size, class } = &config.plumbline.storage {
        documents.push(aggregator::claim(config, size, class.as_deref()));
    }
    documents.push(aggregator::network_policy(options));
    documents.push(aggregator::pod(options, &plugin_maps, &module_maps));
    documents.push(aggregator::service(config));
    Ok(documents)
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

fn names_of(documents: &[Value]) -> Vec<String> {
    let name = |document: &Value| document.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    documents.iter().filter_map(name).collect()
}

fn check_plugins(plugins: &[ManifestPlugin]) -> Result<(), ManifestError> {
    let definitions: Vec<_> = plugins.iter().map(|plugin| plugin.definition.as_ref().clone()).collect();
    check_set(&definitions)?;
    for definition in &definitions {
        if let Some(secret) = reserved_secret(definition) {
            return Err(ManifestError::SecretReserved { plugin: definition.name.clone(), secret });
        }
        if definition.driver == Driver::Process {
            return Err(ManifestError::Process(definition.name.clone()));
        }
        match definition.spec.image() {
            None => return Err(ManifestError::NoImage(definition.name.clone())),
            Some(image) if image.contains(K8S_VERSION_VARIABLE) => {
                return Err(ManifestError::NoVersion { plugin: definition.name.clone(), image: image.to_owned() });
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Checks a name against DNS-1123 as Kubernetes does, but before anything is created.
fn check_name(what: &'static str, name: &str, max: usize, dots: bool) -> Result<(), ManifestError> {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || (dots && b == b'.');
    let bytes = name.as_bytes();
    let good = bytes.len() <= max
        && edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && bytes.iter().all(|&b| inner(b));
    match good {
        true => Ok(()),
        false => Err(ManifestError::Name { what, name: name.chars().take(100).collect(), max }),
    }
}
