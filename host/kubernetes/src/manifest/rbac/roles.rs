//! Builds the roles and bindings of the aggregator and of plugins.

use plumbline_core::Config;
use plumbline_core::Definition;
use plumbline_core::config::Permissions;
use serde::Serialize;
use serde_json::{Value, json};

use super::rules::{Needs, everything, everything_inside, reading, rules};
use crate::driver::PluginAccount;
use crate::manifest::error::ManifestError;
use crate::manifest::options::ManifestOptions;
use crate::names;
use crate::parts::without_nulls;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the roles of the configured mode, each after its binding, in Sonobuoy's order.
///
/// Cluster-wide ones are labelled with the run's namespace, so that a deletion finds them.
pub(crate) fn aggregator_roles(options: &ManifestOptions) -> Vec<Value> {
    let config = &options.config;
    let needs = Needs::of(options);
    let (cluster, namespace) = match config.aggregator_permissions {
        Permissions::ClusterAdmin => (everything(), Vec::new()),
        Permissions::ClusterRead => reading(&needs),
        Permissions::NamespaceAdmin => (Vec::new(), everything_inside()),
        Permissions::Minimal => rules(&needs),
    };
    // The names do not depend on the service account, because older versions of `delete` expect
    // them.
    let cluster_name = format!("sonobuoy-serviceaccount-{}", config.namespace);
    let account = &config.service_account_name;
    let mut objects = role(config, None, &cluster_name, account, &cluster);
    let own = Some(config.namespace.as_str());
    objects.extend(role(config, own, "sonobuoy-serviceaccount-sonobuoy", account, &namespace));
    objects
}

/// Returns the names of the service accounts of plugins that ask for permissions.
pub(crate) fn plugin_accounts(options: &ManifestOptions) -> Vec<String> {
    let account = |definition| match PluginAccount::of(definition, &options.config.service_account_name) {
        PluginAccount::Own(name) => Some(name),
        PluginAccount::Shared | PluginAccount::Named(_) => None,
    };
    definitions(options).filter_map(account).collect()
}

/// Returns the roles of these accounts, each after its binding.
pub(crate) fn plugin_roles(options: &ManifestOptions) -> Result<Vec<Value>, ManifestError> {
    let config = &options.config;
    let mut objects = Vec::new();
    for definition in definitions(options) {
        let (plugin, permissions) = (&definition.name, definition.api_permissions());
        let account = match PluginAccount::of(definition, &config.service_account_name) {
            PluginAccount::Own(name) => name,
            PluginAccount::Named(account) if !permissions.is_empty() => {
                return Err(ManifestError::PermissionsAndAccount(plugin.clone(), account));
            }
            PluginAccount::Shared | PluginAccount::Named(_) => continue,
        };
        let outside = permissions.elsewhere.keys().any(|namespace| *namespace != config.namespace);
        if (outside || !permissions.cluster.is_empty()) && config.aggregator_permissions == Permissions::NamespaceAdmin
        {
            return Err(ManifestError::ClusterPermissions(plugin.clone()));
        }
        // Like those of the aggregator's roles, the name starts with a prefix that identifies the
        // run.
        let name = format!("sonobuoy-serviceaccount-{}-plugin-{plugin}", config.namespace);
        objects.extend(role(config, None, &name, &account, &permissions.cluster));
        let mut by_namespace = permissions.elsewhere;
        by_namespace.entry(config.namespace.clone()).or_default().extend(permissions.namespace);
        for (namespace, rules) in &by_namespace {
            // In another namespace, only this name shows to which run a role belongs.
            let name = if *namespace == config.namespace { &account } else { &name };
            objects.extend(role(config, Some(namespace), name, &account, rules));
        }
    }
    Ok(objects)
}

/// Returns the definitions in name order, as in their ConfigMap.
pub(super) fn definitions(options: &ManifestOptions) -> impl Iterator<Item = &Definition> {
    options.sorted_plugins().into_iter().map(|plugin| plugin.definition.as_ref())
}

/// Returns a role with these rules in a namespace or the whole cluster, after its binding to a
/// service account of the run's namespace. Without rules, there is neither.
fn role(config: &Config, namespace: Option<&str>, name: &str, account: &str, rules: &[impl Serialize]) -> Vec<Value> {
    if rules.is_empty() {
        return Vec::new();
    }
    let (role, binding) = match namespace {
        None => ("ClusterRole", "ClusterRoleBinding"),
        Some(_) => ("Role", "RoleBinding"),
    };
    let labels = json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE, (names::NAMESPACE_LABEL): config.namespace});
    let metadata = without_nulls(json!({"name": name, "namespace": namespace, "labels": labels}));
    let api_version = format!("{GROUP}/v1");
    vec![
        json!({
            "apiVersion": api_version,
            "kind": binding,
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": config.namespace}],
        }),
        json!({"apiVersion": api_version, "kind": role, "metadata": metadata, "rules": rules}),
    ]
}
