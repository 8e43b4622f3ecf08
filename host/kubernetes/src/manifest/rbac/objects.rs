//! Builds roles and their bindings.

use k8s_openapi::api::rbac::v1::PolicyRule;
use plumbline_core::Config;
use plumbline_core::config::Permissions;
use serde_json::{Value, json};

use super::needs::Needs;
use super::rules::{everything, everything_inside, reading, rules};
use crate::names;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the roles of the configured mode, each after its binding, in Sonobuoy's order.
///
/// Cluster-wide ones are labelled with the run's namespace, so that a deletion finds them.
pub(crate) fn objects(config: &Config, needs: &Needs) -> Vec<Value> {
    // The names do not depend on the service account, because older versions of `delete` expect
    // them.
    let cluster = format!("sonobuoy-serviceaccount-{}", config.namespace);
    let inside = "sonobuoy-serviceaccount-sonobuoy";
    match config.aggregator_permissions {
        Permissions::ClusterAdmin => for_cluster(config, &cluster, &everything()).into(),
        Permissions::ClusterRead => {
            let (outside, within) = reading(needs);
            [for_cluster(config, &cluster, &outside), for_namespace(config, inside, &within)].concat()
        }
        Permissions::NamespaceAdmin => for_namespace(config, inside, &everything_inside()).into(),
        Permissions::Minimal => {
            let (outside, within) = rules(needs);
            [for_cluster(config, &cluster, &outside), for_namespace(config, inside, &within)].concat()
        }
    }
}

fn for_cluster(config: &Config, name: &str, rules: &[PolicyRule]) -> [Value; 2] {
    cluster_role(config, name, &config.service_account_name, &json!(rules))
}

fn for_namespace(config: &Config, name: &str, rules: &[PolicyRule]) -> [Value; 2] {
    role(config, name, &config.service_account_name, &json!(rules))
}

/// Returns a ClusterRole with these rules, and its binding to a service account of the run's
/// namespace.
pub(super) fn cluster_role(config: &Config, name: &str, account: &str, rules: &Value) -> [Value; 2] {
    let metadata = json!({"name": name, "labels": labels(config)});
    [
        binding("ClusterRoleBinding", "ClusterRole", &metadata, config, account),
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
    ]
}

/// Returns a Role with these rules, and its binding to a service account of the run's namespace.
pub(super) fn role(config: &Config, name: &str, account: &str, rules: &Value) -> [Value; 2] {
    let metadata = json!({"name": name, "namespace": config.namespace, "labels": labels(config)});
    [
        binding("RoleBinding", "Role", &metadata, config, account),
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": metadata, "rules": rules}),
    ]
}

fn binding(kind: &str, role: &str, metadata: &Value, config: &Config, account: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": role, "name": metadata.get("name")},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": config.namespace}],
    })
}

fn labels(config: &Config) -> Value {
    json!({(names::COMPONENT_LABEL): names::COMPONENT_VALUE, (names::NAMESPACE_LABEL): config.namespace})
}
