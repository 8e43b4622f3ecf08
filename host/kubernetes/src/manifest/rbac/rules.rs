//! The rules of the aggregator's roles, and the needs that they follow from.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::manifest::options::ManifestOptions;
use crate::names;

/// The listable resources of the core group, except `secrets`. Rules can only add permissions, so
/// the resources have to be listed one by one.
const CORE: [&str; 15] = [
    "componentstatuses",
    "configmaps",
    "endpoints",
    "events",
    "limitranges",
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "replicationcontrollers",
    "resourcequotas",
    "serviceaccounts",
    "services",
];

/// The other API groups of Kubernetes and its special interest groups. None of them holds secrets.
/// `*` would include the core group.
const GROUPS: [&str; 22] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "gateway.networking.k8s.io",
    "metrics.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "snapshot.storage.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Paths for discovery and version. By default Kubernetes allows them to everyone, but an
/// administrator can revoke that.
const DISCOVERY: [&str; 6] = ["/api", "/api/*", "/apis", "/apis/*", "/version", "/version/*"];

/// All paths that the API server serves.
const SERVED: [&str; 5] = ["/metrics", "/logs", "/logs/*", "/", "/*"];

/// The events of Kubernetes. The warnings among them become entries of the cluster timeline.
pub const EVENTS: &str = "events";

/// What a run needs permissions for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// The resources that are recorded.
    pub queries: Queries,
    /// Whether the kubelets of nodes are queried.
    pub kubelets: bool,
    /// Whether runs are scheduled, so that each records its time for the next one.
    pub schedule: bool,
}

/// The resources of the cluster that are recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Queries {
    /// No resources.
    Nothing,
    /// All resources that can be listed, except secrets.
    Everything,
    /// These resources, by their plural names, and the special items `podlogs`, `servergroups` and
    /// `serverversion`.
    Named(BTreeSet<String>),
}

impl Queries {
    /// Returns the resources that `Resources` in a configuration lists. Without the key, these are
    /// all.
    #[must_use]
    pub fn of(resources: Option<&[String]>) -> Self {
        match resources {
            None => Self::Everything,
            Some([]) => Self::Nothing,
            Some(names) => Self::Named(names.iter().map(|name| name.to_lowercase()).collect()),
        }
    }

    /// Returns true if a resource or a special item is recorded.
    #[must_use]
    pub fn records(&self, item: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Named(names) => names.contains(item),
        }
    }
}

impl Needs {
    /// Returns the needs of a run with these options.
    #[must_use]
    pub fn of(options: &ManifestOptions) -> Self {
        let queries = Queries::of(options.config.resources.as_deref());
        let own = &options.config.plumbline;
        Self { queries, kubelets: own.query_kubelets, schedule: own.schedule.is_some() }
    }

    /// Returns true if warnings of all namespaces are recorded, and not only those of the run's.
    pub(super) fn watches_events(&self) -> bool {
        self.queries.records(EVENTS)
    }

    /// Returns true if configuration and health of kubelets are recorded, through the API server's
    /// node proxy.
    pub(super) fn asks_nodes(&self) -> bool {
        self.kubelets && self.queries.records("nodes")
    }

    /// Returns true if logs of pods outside the run's namespace are recorded.
    pub(super) fn reads_logs(&self) -> bool {
        self.queries.records("podlogs")
    }
}

/// Returns the minimal rules for `needs`: the cluster-wide ones, and those in the run's namespace.
#[must_use]
pub fn rules(needs: &Needs) -> (Vec<PolicyRule>, Vec<PolicyRule>) {
    // Nodes are needed for results per node, and to notice nodes that disappear.
    let mut rules = vec![rule(&[""], &["nodes"], &["get", "list", "watch"])];
    if needs.watches_events() {
        rules.push(rule(&[""], &[EVENTS], &["list", "watch"]));
    }
    match &needs.queries {
        Queries::Nothing => return (rules, namespace(needs)),
        Queries::Everything => {
            rules.push(rule(&[""], &CORE, &["get", "list"]));
            rules.push(rule(&GROUPS, &["*"], &["get", "list"]));
        }
        Queries::Named(named) => {
            rules.extend(by_name(named, &["get", "list"]));
            // Namespaces are read one by one, and pods to read their logs.
            let lists: &[&str] = if needs.reads_logs() { &["namespaces", "pods"] } else { &["namespaces"] };
            rules.push(rule(&[""], lists, &["get", "list"]));
        }
    }
    if needs.reads_logs() {
        rules.push(rule(&[""], &["pods/log"], &["get"]));
    }
    if needs.asks_nodes() {
        rules.push(rule(&[""], &["nodes/proxy"], &["get"]));
    }
    rules.push(paths(&DISCOVERY));
    (rules, namespace(needs))
}

fn namespace(needs: &Needs) -> Vec<PolicyRule> {
    let mut rules = vec![
        // This covers the pods of plugins, and the status annotations on them and on the
        // aggregator's pod.
        rule(&[""], &["pods"], &["get", "list", "watch", "create", "delete", "patch"]),
        rule(&[""], &["pods/log"], &["get"]),
        rule(&["apps"], &["daemonsets"], &["get", "list", "watch", "create", "delete"]),
        // These are the CA of the run and the certificates of workers. A rule cannot restrict the
        // name of an object that is created. A Secret with another name can therefore be created,
        // but never read.
        PolicyRule {
            resource_names: Some(owned(&[names::CA_SECRET, names::CERTIFICATES_SECRET])),
            ..rule(&[""], &["secrets"], &["get", "patch", "delete"])
        },
        rule(&[""], &["secrets"], &["create"]),
        PolicyRule {
            resource_names: Some(vec![names::STATUS_CONFIG_MAP.to_owned()]),
            ..rule(&[""], &["configmaps"], &["get", "patch", "update"])
        },
        rule(&[""], &["configmaps"], &["create"]),
        // Events explain why a pod does not start, and are recorded. The aggregator creates events
        // about the run.
        rule(&[""], &[EVENTS], &["list", "watch", "create"]),
    ];
    if needs.schedule {
        rules.push(PolicyRule {
            resource_names: Some(vec![names::SCHEDULE.to_owned()]),
            ..rule(&[""], &["configmaps"], &["get", "patch"])
        });
    }
    rules
}

/// Allows everything, as in Sonobuoy's mode `clusterAdmin`.
///
/// Sonobuoy's paths lack `/`, which conformance tests request since Kubernetes 1.29.
pub(super) fn everything() -> Vec<PolicyRule> {
    let mut rules = everything_inside();
    rules.push(paths(&SERVED));
    rules
}

/// Allows everything in a namespace. A Role has no paths.
pub(super) fn everything_inside() -> Vec<PolicyRule> {
    vec![rule(&["*"], &["*"], &["*"])]
}

/// Allows reading and watching everything except Secrets, and the paths that the API server serves,
/// independent of what is recorded.
///
/// Sonobuoy's mode `clusterRead` also allows `get` on all subresources, which includes `pods/exec`
/// and `nodes/proxy`.
pub(super) fn reading(needs: &Needs) -> (Vec<PolicyRule>, Vec<PolicyRule>) {
    const READ: [&str; 3] = ["get", "list", "watch"];
    let mut rules = vec![rule(&[""], &CORE, &READ), rule(&GROUPS, &["*"], &READ), rule(&[""], &["pods/log"], &["get"])];
    if let Queries::Named(named) = &needs.queries {
        rules.extend(by_name(named, &READ));
    }
    if needs.asks_nodes() {
        rules.push(rule(&[""], &["nodes/proxy"], &["get"]));
    }
    rules.push(paths(&SERVED));
    (rules, namespace(needs))
}

/// Returns a rule for resources of any group by their plural names, as a configuration names them.
///
/// No query records `*` or a subresource, and a permission for it would be one to read Secrets, or to
/// run commands in pods.
fn by_name(named: &BTreeSet<String>, verbs: &[&str]) -> Option<PolicyRule> {
    let is_recorded = |name: &&str| !names::NOT_RESOURCES.contains(name) && names::is_safe_name(name);
    let resources: Vec<&str> = named.iter().map(String::as_str).filter(is_recorded).collect();
    (!resources.is_empty()).then(|| rule(&["*"], &resources, verbs))
}

fn paths(paths: &[&str]) -> PolicyRule {
    PolicyRule { non_resource_urls: Some(owned(paths)), verbs: owned(&["get"]), ..PolicyRule::default() }
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(owned(groups)),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}
