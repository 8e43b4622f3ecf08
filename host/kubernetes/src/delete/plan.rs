//! Plans what to delete.

use std::collections::BTreeSet;

use kube::api::ObjectMeta;

use super::belonging::{Belongs, NamespaceFate, belongs, fate, is_aggregator, is_of_run};
use super::kinds::{CLUSTER_WIDE, Kind, NAMESPACE, OF_OTHERS, OF_RUN};
use super::model::{DeleteOptions, Object, Plan, Rbac};
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::names::{COMPONENT_LABEL, COMPONENT_VALUE, NAMESPACE_LABEL};

/// Maximum number of foreign objects to list by name. The rest is counted.
const MAX_NAMED: usize = 10;

/// The two labels that end-to-end tests set on the namespaces that they create.
const E2E_NAMESPACES: &str = "e2e-framework,e2e-run";

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
        Ok(None) => plan.notes.push(format!("namespace `{namespace}` is not there")),
        Ok(Some(found)) => in_namespace(cluster, namespace, Some(&found.metadata), &mut plan).await,
        // The administrator of a single namespace may be unable to get the namespace object, but
        // can see its contents.
        Err(kube::Error::Api(status)) if status.code == 403 => {
            in_namespace(cluster, namespace, None, &mut plan).await;
        }
        Err(error) => return Err(ClusterError::api(what, &error)),
    }
    if options.rbac == Rbac::Enabled {
        let mut selector = format!("{COMPONENT_LABEL}={COMPONENT_VALUE}");
        if !options.all {
            selector.push_str(&format!(",{NAMESPACE_LABEL}={namespace}"));
        }
        for kind in &CLUSTER_WIDE {
            labelled(cluster, kind, None, &selector, &mut plan).await;
        }
        if plan.problems.iter().any(|problem| problem.what.contains("cluster role")) {
            plan.notes.push("cluster roles are left out with `--rbac disable`".to_owned());
        }
    }
    if options.all {
        labelled(cluster, &NAMESPACE, None, E2E_NAMESPACES, &mut plan).await;
    }
    Ok(plan)
}

async fn in_namespace(cluster: &Cluster, namespace: &str, metadata: Option<&ObjectMeta>, plan: &mut Plan) {
    let mut found: Vec<(&'static Kind, ObjectMeta)> = Vec::new();
    let mut problems = Vec::new();
    for kind in OF_RUN.into_iter().chain(&OF_OTHERS) {
        match kind.list(cluster, Some(namespace), None).await {
            Ok(objects) => found.extend(objects.into_iter().map(|object| (kind, object.metadata))),
            Err(error) => {
                let what = format!("list every {} in namespace `{namespace}`", kind.word);
                problems.push(ClusterError::api(what, &error));
            }
        }
    }
    let of_run = found.iter().filter(|(_, metadata)| is_of_run(metadata));
    let owners: BTreeSet<String> = of_run.filter_map(|(_, metadata)| metadata.uid.clone()).collect();
    let others: Vec<String> = found
        .iter()
        .filter(|(kind, metadata)| belongs(kind, metadata, &owners) == Belongs::Others)
        .map(|(kind, metadata)| format!("{} `{}`", kind.word, metadata.name.as_deref().unwrap_or_default()))
        .collect();
    let aggregator = found.iter().any(|(kind, metadata)| kind.word == "pod" && is_aggregator(metadata));
    let known = match problems.first() {
        Some(problem) => Err(problem.cause.clone()),
        None => Ok(others.clone()),
    };
    let fate = match metadata {
        Some(metadata) => fate(metadata, aggregator, &known),
        None => NamespaceFate::Keep(format!("namespace `{namespace}` is kept: this account may not look at it")),
    };
    match (fate, metadata) {
        (NamespaceFate::Remove, Some(metadata)) => {
            plan.objects.extend(Object::new(&NAMESPACE, metadata));
            plan.contents = counts(&found);
            let more = others.len().saturating_sub(MAX_NAMED);
            plan.foreign = others.into_iter().take(MAX_NAMED).collect();
            if more > 0 {
                plan.foreign.push(format!("{more} more"));
            }
        }
        (NamespaceFate::Keep(why), _) => {
            plan.notes.push(why);
            let of_run = found.iter().filter(|(_, metadata)| is_of_run(metadata));
            plan.objects.extend(of_run.filter_map(|(kind, metadata)| Object::new(kind, metadata)));
            plan.problems.append(&mut problems);
        }
        (NamespaceFate::Remove, None) => {}
    }
}

/// Returns a count for each kind, for messages.
fn counts(found: &[(&'static Kind, ObjectMeta)]) -> Vec<String> {
    let count = |kind: &Kind| found.iter().filter(|(of, _)| *of == kind).count();
    let kinds = OF_RUN.into_iter().chain(&OF_OTHERS).map(|kind| (kind.word, count(kind)));
    kinds
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") })
        .collect()
}

async fn labelled(cluster: &Cluster, kind: &'static Kind, namespace: Option<&str>, selector: &str, plan: &mut Plan) {
    match kind.list(cluster, namespace, Some(selector)).await {
        Ok(objects) => {
            for object in objects {
                let Some(object) = Object::new(kind, &object.metadata) else { continue };
                // With `--all`, the selector may also match the namespace of the run.
                if !plan.objects.iter().any(|known| known.kind == kind && known.name == object.name) {
                    plan.objects.push(object);
                }
            }
        }
        Err(error) => plan.problems.push(ClusterError::api(format!("list every {} of a run", kind.word), &error)),
    }
}
