//! Plans what to delete: which objects belong to a run, and what happens to its namespace.

use std::collections::BTreeSet;
use std::fmt;

use kube::api::ObjectMeta;
use serde::Serialize;

use super::kinds::{CLUSTER_WIDE, ELSEWHERE, Kind, MAX_OBJECTS, NAMESPACE, OF_OTHERS, OF_RUN};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::{
    AGGREGATOR, CA_SECRET, CERTIFICATES_SECRET, COMPONENT_LABEL, COMPONENT_VALUE, CONFIG_MAP, MODULES_CONFIG_MAP,
    NAMESPACE_LABEL, OWNED_LABEL, PLUGINS_CONFIG_MAP, ROLE_LABEL, STATUS_CONFIG_MAP,
};

/// Maximum number of foreign objects to list by name. The rest is counted.
const MAX_NAMED: usize = 10;

/// The two labels that end-to-end tests set on the namespaces that they create.
const E2E_NAMESPACES: &str = "e2e-framework,e2e-run";

/// Label on every namespace that was created for a run, whether by Plumbline or Sonobuoy.
const PSA_LABEL: &str = "pod-security.kubernetes.io/enforce";

/// Namespaces that belong to the cluster, regardless of their labels.
const SYSTEM_NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Objects that clusters create in every namespace.
const BY_CLUSTER: [(&str, &str); 7] = [
    ("service account", "default"),
    ("service account", "builder"),
    ("service account", "deployer"),
    ("config map", "kube-root-ca.crt"),
    ("config map", "openshift-service-ca.crt"),
    ("config map", "istio-ca-root-cert"),
    ("service", "kubernetes"),
];

/// Annotation on Secrets that clusters create for service accounts.
const ACCOUNT_ANNOTATION: &str = "kubernetes.io/service-account.name";

/// Selects the run to delete.
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// The namespace of the run.
    pub namespace: String,
    /// Whether to also delete the cluster roles and bindings of every run, and the namespaces that
    /// end-to-end tests left behind.
    pub all: bool,
    /// Whether to delete roles outside the namespace and their bindings. Otherwise nothing looks for
    /// them.
    pub rbac: bool,
}

/// An object in the cluster. As JSON it has `kind`, `namespace` (`null` for objects without one) and
/// `name`.
#[derive(Debug, Clone, Serialize)]
pub struct Object {
    pub(super) kind: &'static Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    #[serde(skip)]
    pub(super) uid: Option<String>,
    /// Whether it was already being deleted when it was listed.
    #[serde(skip)]
    pub terminating: bool,
}

impl Object {
    pub(super) fn new(kind: &'static Kind, metadata: &ObjectMeta) -> Option<Self> {
        Some(Self {
            kind,
            namespace: metadata.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: metadata.name.clone()?,
            uid: metadata.uid.clone(),
            terminating: metadata.deletion_timestamp.is_some(),
        })
    }

    /// Returns true for a namespace, which is deleted with everything in it.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.kind.word == "namespace"
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind.word, self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace `{namespace}`"),
            None => Ok(()),
        }
    }
}

/// The objects to delete, with information for the user.
#[derive(Debug, Default)]
pub struct Plan {
    /// The objects in deletion order.
    pub objects: Vec<Object>,
    /// The contents of the namespaces to delete, as a count for each kind.
    pub contents: Vec<String>,
    /// The first few objects that do not belong to the run but are deleted with a namespace.
    pub foreign: Vec<String>,
    /// What is kept, and why.
    pub notes: Vec<String>,
    /// What could not be inspected, and so may remain.
    pub problems: Vec<ClusterError>,
}

/// Returns what would be deleted, without changing anything. [`Plan::problems`] lists what could
/// not be inspected.
///
/// # Errors
/// Returns an error if the namespace cannot be read at all.
pub async fn plan(cluster: &Cluster, options: &DeleteOptions) -> Result<Plan, ClusterError> {
    let mut plan = Plan::default();
    let namespace = options.namespace.as_str();
    let what = format!("look at namespace `{namespace}`");
    match NAMESPACE.api(cluster, None).get_metadata_opt(namespace).await {
        Ok(None) => plan.notes.push(format!("namespace `{namespace}` does not exist")),
        Ok(Some(found)) => in_namespace(cluster, namespace, Some(&found.metadata), &mut plan).await,
        // The administrator of a single namespace may be unable to get the namespace object, but
        // can see its contents.
        Err(kube::Error::Api(status)) if status.code == 403 => {
            in_namespace(cluster, namespace, None, &mut plan).await;
        }
        Err(error) => return Err(ClusterError::api(what, &error)),
    }
    if options.rbac {
        let of_runs = format!("{COMPONENT_LABEL}={COMPONENT_VALUE}");
        let of_run = format!("{of_runs},{NAMESPACE_LABEL}={namespace}");
        for kind in &CLUSTER_WIDE {
            labelled(cluster, kind, if options.all { &of_runs } else { &of_run }, None, &mut plan).await;
        }
        // These are permissions of the run in other namespaces.
        for kind in &ELSEWHERE {
            labelled(cluster, kind, &of_run, Some(namespace), &mut plan).await;
        }
        if plan.problems.iter().any(|problem| problem.what.contains("cluster role")) {
            plan.notes.push("cluster roles are left out with `--rbac disable`".to_owned());
        }
    }
    if options.all {
        labelled(cluster, &NAMESPACE, E2E_NAMESPACES, None, &mut plan).await;
    }
    Ok(plan)
}

/// Returns an object of a run in `namespace`, as text, that is none of our `own`.
///
/// # Errors
/// Returns an error if the objects cannot be listed.
pub(crate) async fn find_object_of_run(
    cluster: &Cluster,
    namespace: &str,
    own: impl Fn(&ObjectMeta) -> bool,
) -> Result<Option<String>, ClusterError> {
    for kind in &OF_RUN {
        let what = format!("list every {} in namespace `{namespace}`", kind.word);
        let listed = kind.list(cluster, Some(namespace), None).await;
        let listed = listed.map_err(|error| ClusterError::api(&what, &error))?;
        let of_run = |metadata: &&ObjectMeta| {
            is_of_run(metadata) || is_made_without_label(kind, metadata.name.as_deref().unwrap_or_default())
        };
        let mut objects = listed.objects.iter().map(|object| &object.metadata).filter(of_run);
        if let Some(found) = objects.find(|metadata| !own(metadata)).and_then(|metadata| Object::new(kind, metadata)) {
            return Ok(Some(found.to_string()));
        }
        if listed.has_more {
            return Err(too_many(what));
        }
    }
    Ok(None)
}

async fn in_namespace(cluster: &Cluster, namespace: &str, metadata: Option<&ObjectMeta>, plan: &mut Plan) {
    let mut found: Vec<(&'static Kind, ObjectMeta)> = Vec::new();
    let mut problems = Vec::new();
    for kind in OF_RUN.iter().chain(&OF_OTHERS) {
        let what = format!("list every {} in namespace `{namespace}`", kind.word);
        match kind.list(cluster, Some(namespace), None).await {
            Ok(listed) => {
                problems.extend(listed.has_more.then(|| too_many(what)));
                found.extend(listed.objects.into_iter().map(|object| (kind, object.metadata)));
            }
            Err(error) => problems.push(ClusterError::api(what, &error)),
        }
    }
    let of_run = found.iter().filter(|(_, metadata)| is_of_run(metadata));
    let owners: BTreeSet<String> = of_run.filter_map(|(_, metadata)| metadata.uid.clone()).collect();
    let others: Vec<String> = found
        .iter()
        .filter(|(kind, metadata)| is_foreign(kind, metadata, &owners))
        .map(|(kind, metadata)| format!("{} `{}`", kind.word, metadata.name.as_deref().unwrap_or_default()))
        .collect();
    let aggregator = found.iter().any(|(kind, metadata)| {
        kind.word == "pod" && is_of_run(metadata) && label(metadata, ROLE_LABEL) == Some(AGGREGATOR)
    });
    let known = match problems.first() {
        Some(problem) => Err(problem.cause.clone()),
        None => Ok(others.clone()),
    };
    let kept = match metadata {
        Some(metadata) => reason_to_keep(metadata, aggregator, &known),
        None => Some(format!("namespace `{namespace}` is kept: this account has no permission to read it")),
    };
    if let Some(why) = kept {
        plan.notes.push(why);
        let of_run = found.iter().filter(|(_, metadata)| is_of_run(metadata));
        plan.objects.extend(of_run.filter_map(|(kind, metadata)| Object::new(kind, metadata)));
        plan.problems.append(&mut problems);
        return;
    }
    plan.objects.extend(metadata.and_then(|metadata| Object::new(&NAMESPACE, metadata)));
    plan.contents = counts(&found);
    let more = others.len().saturating_sub(MAX_NAMED);
    plan.foreign = others.into_iter().take(MAX_NAMED).collect();
    if more > 0 {
        plan.foreign.push(format!("{more} more"));
    }
}

/// Returns the problem that a kind has more objects than are listed. `what` completes the message
/// "failed to …".
fn too_many(what: String) -> ClusterError {
    ClusterError::new(what, format!("there are more than {MAX_OBJECTS}, so objects may remain"))
        .hint("run the same command again, until it finds no more")
}

/// Returns a count for each kind, for messages.
fn counts(found: &[(&'static Kind, ObjectMeta)]) -> Vec<String> {
    let count = |kind: &Kind| found.iter().filter(|(of, _)| of.word == kind.word).count();
    let kinds = OF_RUN.iter().chain(&OF_OTHERS).map(|kind| (kind.word, count(kind)));
    kinds
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") })
        .collect()
}

/// Adds the objects of a kind that match `selector`, in all namespaces but `except`.
async fn labelled(cluster: &Cluster, kind: &'static Kind, selector: &str, except: Option<&str>, plan: &mut Plan) {
    let place = if except.is_some() { " in other namespaces" } else { "" };
    let what = format!("list every {} of a run{place}", kind.word);
    match kind.list(cluster, None, Some(selector)).await {
        Ok(listed) => {
            plan.problems.extend(listed.has_more.then(|| too_many(what)));
            for object in listed.objects {
                let Some(object) = Object::new(kind, &object.metadata) else { continue };
                let same = |known: &Object| {
                    (known.kind.word, &known.namespace, &known.name) == (kind.word, &object.namespace, &object.name)
                };
                // With `--all`, the selector may also match the namespace of the run.
                let is_excepted = except.is_some() && object.namespace.as_deref() == except;
                if !is_excepted && !plan.objects.iter().any(same) {
                    plan.objects.push(object);
                }
            }
        }
        Err(error) => plan.problems.push(ClusterError::api(what, &error)),
    }
}

/// Returns true for an object that belongs neither to a run nor to the cluster. `owners` are the
/// UIDs of the run's objects.
fn is_foreign(kind: &Kind, metadata: &ObjectMeta, owners: &BTreeSet<String>) -> bool {
    let name = metadata.name.as_deref().unwrap_or_default();
    let owned = metadata.owner_references.iter().flatten().any(|owner| owners.contains(&owner.uid));
    let of_run = is_of_run(metadata) || owned || is_made_without_label(kind, name);
    let for_account = metadata.annotations.as_ref().is_some_and(|all| all.contains_key(ACCOUNT_ANNOTATION));
    let of_cluster = BY_CLUSTER.contains(&(kind.word, name)) || for_account || name.starts_with("system:");
    !of_run && !of_cluster
}

/// Returns true if the object carries the label of runs.
fn is_of_run(metadata: &ObjectMeta) -> bool {
    label(metadata, COMPONENT_LABEL) == Some(COMPONENT_VALUE)
}

/// Returns true for objects that manifests of runs, including Sonobuoy's, create without a label.
fn is_made_without_label(kind: &Kind, name: &str) -> bool {
    match kind.word {
        "config map" => {
            (name.starts_with("plugin-") && name.ends_with("-cm"))
                || name.starts_with(PLUGINS_CONFIG_MAP)
                || name.starts_with(MODULES_CONFIG_MAP)
                || [CONFIG_MAP, STATUS_CONFIG_MAP].contains(&name)
        }
        "secret" => {
            ["ssh-key", "auth-repo-cred", CA_SECRET, CERTIFICATES_SECRET].contains(&name)
                || name.starts_with("sonobuoy-plugin-")
        }
        _ => false,
    }
}

/// Decides what happens to a namespace. With `None`, it was created for the run and is deleted with
/// everything in it. Otherwise it stays for the returned reason, and only the labelled objects in it
/// are deleted.
///
/// `aggregator` says whether a run's aggregator is in it. `others` are the objects in it that do
/// not belong to the run, or the reason why they are unknown.
fn reason_to_keep(metadata: &ObjectMeta, aggregator: bool, others: &Result<Vec<String>, String>) -> Option<String> {
    let name = metadata.name.as_deref().unwrap_or_default();
    let keep = |why: &str| Some(format!("namespace `{name}` is kept: {why}"));
    if SYSTEM_NAMESPACES.contains(&name) {
        return keep("it belongs to the cluster");
    }
    if label(metadata, OWNED_LABEL).is_some() {
        return None;
    }
    // Sonobuoy does not mark its namespaces with a label of its own. They are recognizable only
    // while its aggregator is there. To be sure that nobody else created the namespace, it must
    // contain nothing else.
    if label(metadata, PSA_LABEL).is_none() || !aggregator {
        return keep("it has no label of a run");
    }
    match others {
        Ok(others) => match others.first() {
            None => None,
            Some(first) if others.len() == 1 => keep(&format!("it has {first}, which does not belong to the run")),
            Some(first) => keep(&format!("it has {first} and {} more that do not belong to the run", others.len() - 1)),
        },
        Err(why) => keep(&format!("failed to list its objects: {why}")),
    }
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.labels.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(json: serde_json::Value) -> ObjectMeta {
        serde_json::from_value(json).unwrap()
    }

    fn kind(word: &str) -> &'static Kind {
        OF_RUN.iter().find(|kind| kind.word == word).unwrap()
    }

    #[test]
    fn objects_are_distinguished() {
        let owners = BTreeSet::from(["u1".to_owned()]);
        for (word, metadata, want) in [
            ("pod", json!({"name": "x", "labels": {"component": "sonobuoy"}}), false),
            ("pod", json!({"name": "x", "labels": {"component": "kube-proxy"}}), true),
            (
                "pod",
                json!({"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u1"}]}),
                false,
            ),
            (
                "pod",
                json!({"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u2"}]}),
                true,
            ),
            ("config map", json!({"name": "plugin-e2e-cm"}), false),
            ("config map", json!({"name": "kube-root-ca.crt"}), false),
            ("config map", json!({"name": "mine"}), true),
            ("secret", json!({"name": "ssh-key"}), false),
            ("secret", json!({"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}}), false),
            ("service account", json!({"name": "default"}), false),
            ("role binding", json!({"name": "system:image-pullers"}), false),
            ("secret", json!({"name": "password"}), true),
        ] {
            assert_eq!(is_foreign(kind(word), &meta(metadata.clone()), &owners), want, "{word} {metadata}");
        }
    }

    #[test]
    fn only_a_namespace_that_was_made_for_a_run_goes() {
        let nothing = Ok(Vec::new());
        let ours = meta(json!({"name": "ns", "labels": {OWNED_LABEL: "true"}}));
        let theirs = meta(json!({"name": "ns", "labels": {PSA_LABEL: "privileged"}}));
        let bare = meta(json!({"name": "ns"}));
        let system = meta(json!({"name": "kube-system", "labels": {OWNED_LABEL: "true"}}));
        let foreign = Ok(vec!["pod `x`".to_owned(), "pod `y`".to_owned()]);
        assert_eq!(reason_to_keep(&ours, false, &foreign), None);
        assert_eq!(reason_to_keep(&theirs, true, &nothing), None);
        for (namespace, aggregator, others, why) in [
            (&theirs, false, &nothing, "it has no label"),
            (&theirs, true, &foreign, "pod `x` and 1 more"),
            (&theirs, true, &Err("forbidden".to_owned()), "forbidden"),
            (&bare, true, &nothing, "it has no label"),
            (&system, true, &nothing, "belongs to the cluster"),
        ] {
            let reason = reason_to_keep(namespace, aggregator, others).unwrap();
            assert!(reason.contains(why), "{reason}");
        }
    }
}
