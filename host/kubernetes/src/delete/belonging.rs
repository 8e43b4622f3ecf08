//! Pure rules that decide to whom an object belongs.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::ObjectMeta;

use super::kinds::Kind;
use crate::names::{
    AGGREGATOR, CA_SECRET, CERTIFICATES_SECRET, COMPONENT_LABEL, COMPONENT_VALUE, CONFIG_MAP, MODULES_CONFIG_MAP,
    OWNED_LABEL, PLUGINS_CONFIG_MAP, ROLE_LABEL, STATUS_CONFIG_MAP,
};

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

/// The owner of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    /// A run: the object or its owner carries the label, or a run's manifest creates it without a
    /// label.
    Run,
    /// The cluster, which creates it in every namespace.
    Cluster,
    /// Anyone else.
    Others,
}

/// Returns to whom an object belongs. `owners` are the UIDs of the run's objects.
pub(super) fn belongs(kind: &Kind, metadata: &ObjectMeta, owners: &BTreeSet<String>) -> Belongs {
    let name = metadata.name.as_deref().unwrap_or_default();
    let owned = metadata.owner_references.iter().flatten().any(|owner| owners.contains(&owner.uid));
    if is_of_run(metadata) || owned || is_made_without_label(kind, name) {
        return Belongs::Run;
    }
    let for_account = annotation(metadata, ACCOUNT_ANNOTATION).is_some();
    if BY_CLUSTER.contains(&(kind.word, name)) || for_account || name.starts_with("system:") {
        return Belongs::Cluster;
    }
    Belongs::Others
}

/// Returns true if the object carries the label of runs.
pub(super) fn is_of_run(metadata: &ObjectMeta) -> bool {
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

/// What happens to the namespace of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NamespaceFate {
    /// The namespace was created for the run, and is deleted with everything in it.
    Remove,
    /// The namespace stays, for this reason. Only the labelled objects in it are deleted.
    Keep(String),
}

/// Decides what happens to a namespace.
///
/// `aggregator` says whether a run's aggregator is in it. `others` are the objects in it that do
/// not belong to the run, or the reason why they are unknown.
pub(super) fn fate(metadata: &ObjectMeta, aggregator: bool, others: &Result<Vec<String>, String>) -> NamespaceFate {
    let name = metadata.name.as_deref().unwrap_or_default();
    let keep = |why: &str| NamespaceFate::Keep(format!("namespace `{name}` is kept: {why}"));
    if SYSTEM_NAMESPACES.contains(&name) {
        return keep("it belongs to the cluster");
    }
    if label(metadata, OWNED_LABEL).is_some() {
        return NamespaceFate::Remove;
    }
    // Sonobuoy does not mark its namespaces with a label of its own. They are recognizable only
    // while its aggregator is there. To be sure that nobody else created the namespace, it must
    // contain nothing else.
    if label(metadata, PSA_LABEL).is_none() || !aggregator {
        return keep("nothing shows that it was made for a run");
    }
    match others {
        Ok(others) => match others.first() {
            None => NamespaceFate::Remove,
            Some(first) if others.len() == 1 => keep(&format!("it holds {first}, which is not of the run")),
            Some(first) => keep(&format!("it holds {first} and {} more that are not of the run", others.len() - 1)),
        },
        Err(why) => keep(&format!("what is in it cannot be looked at: {why}")),
    }
}

/// Returns true if the pod is the aggregator of a run.
pub(super) fn is_aggregator(metadata: &ObjectMeta) -> bool {
    is_of_run(metadata) && label(metadata, ROLE_LABEL) == Some(AGGREGATOR)
}

fn label<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    of(metadata.labels.as_ref(), key)
}

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    of(metadata.annotations.as_ref(), key)
}

fn of<'a>(map: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    map?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::{NAMESPACE, OF_RUN, POD};
    use super::*;

    fn meta(json: serde_json::Value) -> ObjectMeta {
        serde_json::from_value(json).unwrap()
    }

    fn kind(word: &str) -> &'static Kind {
        OF_RUN.iter().find(|kind| kind.word == word).unwrap()
    }

    #[test]
    fn objects_are_told_apart() {
        let owners = BTreeSet::from(["u1".to_owned()]);
        for (word, metadata, want) in [
            ("pod", json!({"name": "x", "labels": {"component": "sonobuoy"}}), Belongs::Run),
            ("pod", json!({"name": "x", "labels": {"component": "kube-proxy"}}), Belongs::Others),
            (
                "pod",
                json!({"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u1"}]}),
                Belongs::Run,
            ),
            (
                "pod",
                json!({"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u2"}]}),
                Belongs::Others,
            ),
            ("config map", json!({"name": "plugin-e2e-cm"}), Belongs::Run),
            ("config map", json!({"name": "kube-root-ca.crt"}), Belongs::Cluster),
            ("config map", json!({"name": "mine"}), Belongs::Others),
            ("secret", json!({"name": "ssh-key"}), Belongs::Run),
            (
                "secret",
                json!({"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}}),
                Belongs::Cluster,
            ),
            ("service account", json!({"name": "default"}), Belongs::Cluster),
            ("role binding", json!({"name": "system:image-pullers"}), Belongs::Cluster),
            ("secret", json!({"name": "password"}), Belongs::Others),
        ] {
            assert_eq!(belongs(kind(word), &meta(metadata.clone()), &owners), want, "{word} {metadata}");
        }
        assert_eq!(NAMESPACE.word, "namespace");
        assert_eq!(POD.word, "pod");
    }

    #[test]
    fn only_a_namespace_that_was_made_for_a_run_goes() {
        let nothing = Ok(Vec::new());
        let ours = meta(json!({"name": "ns", "labels": {OWNED_LABEL: "true"}}));
        let theirs = meta(json!({"name": "ns", "labels": {PSA_LABEL: "privileged"}}));
        let bare = meta(json!({"name": "ns"}));
        let system = meta(json!({"name": "kube-system", "labels": {OWNED_LABEL: "true"}}));
        let foreign = Ok(vec!["pod `x`".to_owned(), "pod `y`".to_owned()]);
        assert_eq!(fate(&ours, false, &foreign), NamespaceFate::Remove);
        assert_eq!(fate(&theirs, true, &nothing), NamespaceFate::Remove);
        for (namespace, aggregator, others, why) in [
            (&theirs, false, &nothing, "nothing shows"),
            (&theirs, true, &foreign, "pod `x` and 1 more"),
            (&theirs, true, &Err("forbidden".to_owned()), "forbidden"),
            (&bare, true, &nothing, "nothing shows"),
            (&system, true, &nothing, "belongs to the cluster"),
        ] {
            let NamespaceFate::Keep(told) = fate(namespace, aggregator, others) else { panic!("{why}") };
            assert!(told.contains(why), "{told}");
        }
    }
}
