//! Selects the pods whose logs are collected.

use std::collections::BTreeSet;
use std::io;

use serde_json::Value;

use super::fetch::Fetch;
use super::filter::{NamespaceFilter, Scope, scope};
use super::list::{Selection, Sink, list};
use super::options::{PodLogOptions, QueryOptions};
use super::record::Recorder;
use super::safe::is_safe_name;
use super::selector;
use crate::error::ClusterError;
use crate::pod_view::{PodObject, PodView};

/// A pod whose logs are collected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The node that has its logs, or empty if it is on no node.
    pub(super) node: String,
    /// Identifies the pod: its UID, or namespace and name on a server without UIDs.
    identity: String,
    /// The containers in start order: init containers first.
    pub(super) containers: Vec<String>,
}

/// Collects the pods of a list that have logs, without duplicates.
#[derive(Debug, Default)]
struct Pods {
    filter: Option<NamespaceFilter>,
    pods: Vec<Pod>,
    refused: Vec<String>,
}

impl Sink for Pods {
    fn item(&mut self, item: Value) -> io::Result<()> {
        match read_pod(item) {
            Ok(Some(pod)) if self.filter.as_ref().is_none_or(|filter| filter.takes(&pod.namespace)) => {
                self.pods.push(pod);
            }
            Ok(_) => {}
            Err(why) => self.refused.push(why),
        }
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.pods.clear();
        self.refused.clear();
        Ok(())
    }
}

/// Parses a pod. Returns `None` if it was evicted, because then its logs are gone.
fn read_pod(item: Value) -> Result<Option<Pod>, String> {
    let object: PodObject = serde_json::from_value(item).map_err(|error| format!("failed to read a pod: {error}"))?;
    let pod = PodView::from(object);
    if pod.reason.as_deref() == Some("Evicted") {
        return Ok(None);
    }
    let refused = pod.unsafe_name().or(Some(pod.namespace.as_str()).filter(|namespace| !is_safe_name(namespace)));
    if let Some(name) = refused {
        return Err(format!("pod {:?} in namespace {:?} has the invalid name {name:?}", pod.name, pod.namespace));
    }
    let identity = match pod.uid.as_str() {
        "" => format!("{}/{}", pod.namespace, pod.name),
        uid => uid.to_owned(),
    };
    let containers = pod.container_names().map(str::to_owned).collect();
    Ok(Some(Pod { containers, identity, node: pod.node.unwrap_or_default(), namespace: pod.namespace, name: pod.name }))
}

/// Returns all selected pods: by namespace, and by field selectors over all namespaces.
pub(super) async fn choose(
    fetch: &Fetch,
    record: &Recorder<'_>,
    options: &QueryOptions,
    namespaces: &[String],
) -> Vec<Pod> {
    let wanted = &options.pod_logs;
    let labels = match selector::complaint(&wanted.label_selector) {
        None => wanted.label_selector.clone(),
        Some(why) => {
            record.problem("podlogs", "", format!("the label selector of pod logs is left out: {why}"));
            String::new()
        }
    };
    let selection = Selection { labels, ..Selection::default() };
    let mut lists =
        of_namespaces(fetch, record, &selection, &filter(wanted, &options.own_namespace, record), namespaces).await;
    for fields in &wanted.field_selectors {
        let selection = Selection { fields: fields.clone(), ..selection.clone() };
        match ask(fetch, "/api/v1/pods", &selection, None).await {
            Ok(pods) => lists.push(pods),
            Err(error) => record.problem("podlogs", "", format!("field selector `{fields}`: {error}")),
        }
    }
    let mut seen = BTreeSet::new();
    let mut pods = Vec::new();
    for list in lists {
        for why in list.refused {
            record.problem("podlogs", "", why);
        }
        pods.extend(list.pods.into_iter().filter(|pod| seen.insert(pod.identity.clone())));
    }
    pods
}

/// Returns the pods of the namespaces that `filter` selects. If it selects all of several, this
/// tries one list first.
async fn of_namespaces(
    fetch: &Fetch,
    record: &Recorder<'_>,
    selection: &Selection,
    filter: &NamespaceFilter,
    namespaces: &[String],
) -> Vec<Pods> {
    let each = match scope(namespaces, filter) {
        Scope::Each(each) => each,
        Scope::All => match ask(fetch, "/api/v1/pods", selection, Some(filter.clone())).await {
            Ok(pods) => return vec![pods],
            // Permissions may be granted in each namespace, but not cluster-wide.
            Err(error) if error.is_forbidden() => namespaces.to_vec(),
            Err(error) => {
                record.problem("podlogs", "", error.to_string());
                return Vec::new();
            }
        },
    };
    let mut lists = Vec::new();
    for namespace in each {
        match ask(fetch, &format!("/api/v1/namespaces/{namespace}/pods"), selection, None).await {
            Ok(pods) => lists.push(pods),
            Err(error) => record.problem("podlogs", &namespace, error.to_string()),
        }
    }
    lists
}

async fn ask(
    fetch: &Fetch,
    path: &str,
    selection: &Selection,
    filter: Option<NamespaceFilter>,
) -> Result<Pods, ClusterError> {
    let sink = Pods { filter, ..Pods::default() };
    list(fetch, "list the pods whose logs are to be collected", path, selection, sink).await.map(|(pods, _)| pods)
}

fn filter(wanted: &PodLogOptions, own: &str, record: &Recorder<'_>) -> NamespaceFilter {
    let matching = match wanted.namespaces.as_str() {
        "" => NamespaceFilter::default(),
        expression => NamespaceFilter::matching(expression).unwrap_or_else(|error| {
            record.problem("podlogs", "", format!("the namespaces of pod logs are no regular expression: {error}"));
            NamespaceFilter::default()
        }),
    };
    if wanted.own_namespace { matching.and(own) } else { matching }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_container_of_a_pod_has_a_log() {
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "c"}],
            "initContainers": [{"name": "i"}], "ephemeralContainers": null}});
        let pod = read_pod(pod).unwrap().unwrap();
        assert_eq!((pod.identity.as_str(), pod.containers.join(" ").as_str()), ("n/p", "i c"));
    }

    #[test]
    fn evicted_pods_have_none_and_names_are_checked() {
        assert_eq!(read_pod(json!({"metadata": {}, "spec": {}, "status": {"reason": "Evicted"}})), Ok(None));
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"containers": [{"name": "../../x"}]}});
        assert!(read_pod(pod).unwrap_err().contains("../../x"));
        assert!(read_pod(json!(null)).is_err());
    }
}
