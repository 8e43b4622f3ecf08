//! Whose an object is: pure rules.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::ObjectMeta;

use super::kinds::Kind;
use crate::names::{
    AGGREGATOR, AUTHORITY_SECRET, CERTIFICATES_SECRET, COMPONENT_LABEL, COMPONENT_VALUE, CONFIG_MAP,
    MODULES_CONFIG_MAP, OWNED_LABEL, PLUGINS_CONFIG_MAP, ROLE_LABEL, STATUS_CONFIG_MAP,
};

/// Label that a namespace made for a run carries, whoever made it.
const PSA_LABEL: &str = "pod-security.kubernetes.io/enforce";

/// Namespaces that belong to the cluster, whatever labels they carry.
const SYSTEM_NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Objects that clusters put into every namespace by themselves.
const BY_CLUSTER: [(&str, &str); 7] = [
    ("service account", "default"),
    ("service account", "builder"),
    ("service account", "deployer"),
    ("config map", "kube-root-ca.crt"),
    ("config map", "openshift-service-ca.crt"),
    ("config map", "istio-ca-root-cert"),
    ("service", "kubernetes"),
];

/// On Secrets that clusters make for service accounts.
const ACCOUNT_ANNOTATION: &str = "kubernetes.io/service-account.name";

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    /// To a run: it carries the label, or its owner does, or a run's manifest makes it without a label.
    Run,
    /// To the cluster, which puts it into every namespace.
    Cluster,
    /// To somebody else.
    Others,
}

/// Whose an object is. `owners`: uids of objects of the run.
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

/// Whether it carries the label of runs.
pub(super) fn is_of_run(metadata: &ObjectMeta) -> bool {
    label(metadata, COMPONENT_LABEL) == Some(COMPONENT_VALUE)
}

/// What manifests of runs, Sonobuoy's among them, make without a label.
fn is_made_without_label(kind: &Kind, name: &str) -> bool {
    match kind.word {
        "config map" => {
            (name.starts_with("plugin-") && name.ends_with("-cm"))
                || name.starts_with(PLUGINS_CONFIG_MAP)
                || name.starts_with(MODULES_CONFIG_MAP)
                || [CONFIG_MAP, STATUS_CONFIG_MAP].contains(&name)
        }
        "secret" => {
            ["ssh-key", "auth-repo-cred", AUTHORITY_SECRET, CERTIFICATES_SECRET].contains(&name)
                || name.starts_with("sonobuoy-plugin-")
        }
        _ => false,
    }
}

/// What may be done with the namespace that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NamespaceFate {
    /// It was made for the run and goes with everything in it.
    Remove,
    /// It stays, and why; what is labelled in it goes.
    Keep(String),
}

/// Decides over a namespace. `aggregator`: whether a run's aggregator is in it. `others`: what is in it that is not of the run;
/// `Err` where that cannot be known, with why.
pub(super) fn fate(metadata: &ObjectMeta, aggregator: bool, others: &Result<Vec<String>, String>) -> NamespaceFate {
    let name = metadata.name.as_deref().unwrap_or_default();
    let keep = |why: &str| NamespaceFate::Keep(format!("namespace `{name}` is kept: {why}"));
    if SYSTEM_NAMESPACES.contains(&name) {
        return keep("it belongs to the cluster");
    }
    if label(metadata, OWNED_LABEL).is_some() {
        return NamespaceFate::Remove;
    }
    // Sonobuoy marks its namespaces with nothing of its own. What it makes of them is recognisable only while its aggregator is
    // there, and only a namespace in which nothing else is can be told from one that somebody else made.
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

/// Whether a pod is the aggregator of a run.
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
