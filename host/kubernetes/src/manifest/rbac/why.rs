//! Explains the roles of a run as text.

use plumbline_core::Definition;
use plumbline_core::config::Permissions;
use plumbline_core::definition::PolicyRule;

use super::roles::definitions;
use super::rules::{Needs, Queries};
use crate::driver::PluginAccount;
use crate::manifest::options::ManifestOptions;

/// Maximum number of rules to show for each plugin. The manifest has all of them.
const MAX_SHOWN: usize = 8;

/// Returns one sentence for each permission of the aggregator and of each plugin: what it allows,
/// and its purpose.
#[must_use]
pub fn why(options: &ManifestOptions) -> Vec<String> {
    let needs = Needs::of(options);
    let mut lines = match options.config.aggregator_permissions {
        Permissions::Minimal => {
            let mut lines = vec![
                "the aggregator reads and watches nodes, to know which results to expect".to_owned(),
                IN_NAMESPACE.to_owned(),
            ];
            if needs.watches_events() {
                lines.push(
                    "the aggregator watches events in all namespaces, to record the warnings during the run".to_owned(),
                );
            }
            lines.extend(recorded(&needs));
            lines
        }
        Permissions::ClusterRead => vec![
            "the aggregator reads and watches every resource of Kubernetes' own groups except Secrets, and logs of pods in all namespaces".to_owned(),
            IN_NAMESPACE.to_owned(),
        ],
        Permissions::NamespaceAdmin => vec!["the aggregator may do everything in its namespace".to_owned()],
        Permissions::ClusterAdmin => vec!["the aggregator may do everything in the cluster".to_owned()],
    };
    let confined = matches!(options.config.aggregator_permissions, Permissions::Minimal | Permissions::ClusterRead);
    if confined && needs.asks_nodes() {
        lines.push(
            "the aggregator asks kubelets for their configuration and health (`nodes/proxy`): this permission also allows commands in every container of every node"
                .to_owned(),
        );
    }
    if confined && needs.schedule {
        lines.push(
            "the aggregator reads and writes the time of the last scheduled run, to report runs that were missed"
                .to_owned(),
        );
    }
    for definition in definitions(options) {
        lines.extend(of_plugin(definition, options));
        lines.extend(of_check(definition));
    }
    lines
}

/// Explains what the check of a plugin may read.
fn of_check(definition: &Definition) -> Option<String> {
    let (plugin, own) = (&definition.name, &definition.plumbline);
    let file = own.component.as_ref()?;
    Some(format!("plugin `{plugin}` runs the check `{file}` in a sandbox, with these rights: {}", own.grants))
}

/// The permissions in the namespace of the run in all modes that do not allow everything there.
const IN_NAMESPACE: &str = "in its namespace, the aggregator creates and deletes pods and DaemonSets, reads pods and logs, and watches events. It creates events about the run, reads and writes its own two Secrets, and writes its status";

/// Explains the permissions to record the state of the cluster.
fn recorded(needs: &Needs) -> Vec<String> {
    let mut lines = match &needs.queries {
        Queries::Nothing => Vec::new(),
        Queries::Everything => vec![
            "the aggregator reads every resource of Kubernetes' own groups except Secrets, to record the state of the cluster; `Resources` in the configuration adds custom resources"
                .to_owned(),
        ],
        Queries::Named(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            vec![format!("the aggregator reads what `Resources` lists, in all namespaces: {}", names.join(", "))]
        }
    };
    if needs.reads_logs() {
        lines.push(
            "the aggregator reads logs of pods in all namespaces, to record those that `Limits.PodLogs` selects"
                .to_owned(),
        );
    }
    lines
}

/// Returns notices about the permissions of plugins, which the user should see before every run.
#[must_use]
pub fn notices(options: &ManifestOptions) -> Vec<String> {
    let config = &options.config;
    let notice = |definition: &Definition| {
        let (plugin, permissions) = (&definition.name, definition.api_permissions());
        let account = &config.service_account_name;
        if permissions.is_cluster_admin() {
            Some(format!("plugin `{plugin}` may do everything in the cluster: its definition asks for it"))
        } else if !permissions.is_empty() {
            None
        } else if PluginAccount::is_replaced(definition, account) {
            Some(format!(
                "plugin `{plugin}` names the service account of the aggregator, `{account}`, and gets one without permissions: `plumbline.permissions` in its definition grants them"
            ))
        } else if PluginAccount::of(definition, account) != PluginAccount::Shared {
            None
        } else if config.aggregator_permissions == Permissions::ClusterAdmin {
            Some(format!(
                "plugin `{plugin}` has no permissions: `clusterAdmin` is for the aggregator, and `plumbline.permissions` in the definition is for the plugin"
            ))
        } else {
            names_kubectl(definition).then(|| format!(
                "plugin `{plugin}` has no permissions and no token, but its definition contains `kubectl`: `plumbline.permissions` in the definition grants what it needs"
            ))
        }
    };
    definitions(options).filter_map(notice).collect()
}

/// Returns whether the image, a command, a script or another part of the definition contains the
/// word `kubectl`.
fn names_kubectl(definition: &Definition) -> bool {
    definition.to_json().to_string().contains("kubectl")
}

fn of_plugin(definition: &Definition, options: &ManifestOptions) -> Vec<String> {
    let plugin = &definition.name;
    let permissions = definition.api_permissions();
    match PluginAccount::of(definition, &options.config.service_account_name) {
        PluginAccount::Shared => vec![format!("plugin `{plugin}` has no permissions and no token")],
        PluginAccount::Named(account) => vec![format!(
            "plugin `{plugin}` runs as service account `{account}`, which must exist: it may do what that account may do"
        )],
        PluginAccount::Own(_) if permissions.is_cluster_admin() => vec![format!(
            "plugin `{plugin}` may do everything in the cluster, reading the keys of this run included: its definition asks for it"
        )],
        PluginAccount::Own(_) => {
            let cluster = permissions.cluster.iter().map(|rule| (rule, "in the whole cluster".to_owned()));
            let own = permissions.namespace.iter().map(|rule| (rule, "in the namespace of the run".to_owned()));
            let other = permissions.elsewhere.iter().flat_map(|(namespace, rules)| {
                rules.iter().map(move |rule| (rule, format!("in namespace `{namespace}`")))
            });
            let rules = cluster.chain(own).chain(other);
            let mut lines: Vec<String> = rules
                .clone()
                .take(MAX_SHOWN)
                .map(|(rule, place)| format!("plugin `{plugin}` may {place}: {}", in_words(rule)))
                .collect();
            let more = rules.count().saturating_sub(MAX_SHOWN);
            if more > 0 {
                lines.push(format!("plugin `{plugin}` has {more} more rules: `plumbline gen` prints them"));
            }
            lines
        }
    }
}

/// Formats a rule with the terms of Kubernetes, such as `get, list nodes`.
fn in_words(rule: &PolicyRule) -> String {
    let verbs = rule.verbs.join(", ");
    let of = match rule.non_resource_urls.is_empty() {
        true => rule.resources.join(", "),
        false => rule.non_resource_urls.join(", "),
    };
    match rule.resource_names.is_empty() {
        true => format!("{verbs} {of}"),
        false => format!("{verbs} {of} named {}", rule.resource_names.join(", ")),
    }
}
