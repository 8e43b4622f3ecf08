//! Service accounts and roles of plugins that ask for permissions.

use plumbline_core::config::Permissions;
use plumbline_core::{Definition, PluginName};
use serde_json::{Value, json};

use super::super::error::ManifestError;
use super::super::objects::service_account;
use super::super::options::ManifestOptions;
use super::objects::{cluster_role, role};
use crate::driver::PluginAccount;

/// Returns the service accounts of plugins that ask for permissions.
pub(crate) fn plugin_accounts(options: &ManifestOptions) -> Vec<Value> {
    let config = &options.config;
    let account = |definition| match PluginAccount::of(definition, &config.service_account_name) {
        PluginAccount::Own(name) => Some(service_account(config, &name)),
        PluginAccount::Shared | PluginAccount::Named(_) => None,
    };
    definitions(options).into_iter().filter_map(account).collect()
}

/// Returns the roles of these accounts, each after its binding.
pub(crate) fn plugin_roles(options: &ManifestOptions) -> Result<Vec<Value>, ManifestError> {
    let config = &options.config;
    let mut objects = Vec::new();
    for definition in definitions(options) {
        let (plugin, permissions) = (&definition.name, &definition.plumbline.permissions);
        let account = match PluginAccount::of(definition, &config.service_account_name) {
            PluginAccount::Own(name) => name,
            PluginAccount::Named(account) if !permissions.is_empty() => {
                return Err(ManifestError::PermissionsAndAccount { plugin: plugin.clone(), account });
            }
            PluginAccount::Shared | PluginAccount::Named(_) => continue,
        };
        if !permissions.cluster.is_empty() {
            if config.aggregator_permissions == Permissions::NamespaceAdmin {
                return Err(ManifestError::ClusterPermissions(plugin.clone()));
            }
            let name = cluster_role_name(&config.namespace, plugin);
            objects.extend(cluster_role(config, &name, &account, &json!(permissions.cluster)));
        }
        if !permissions.namespace.is_empty() {
            objects.extend(role(config, &account, &account, &json!(permissions.namespace)));
        }
    }
    Ok(objects)
}

/// Returns the name of a plugin's cluster role. Like those of the aggregator's roles, it starts
/// with a prefix that identifies the run.
fn cluster_role_name(namespace: &str, plugin: &PluginName) -> String {
    format!("sonobuoy-serviceaccount-{namespace}-plugin-{plugin}")
}

/// Returns the definitions in name order, as in their ConfigMap.
pub(super) fn definitions(options: &ManifestOptions) -> Vec<&Definition> {
    let mut definitions: Vec<&Definition> = options.plugins.iter().map(|plugin| plugin.definition.as_ref()).collect();
    definitions.sort_by_key(|definition| definition.name.as_str());
    definitions
}
