//! The aggregator's pod, as a client finds it.

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::Api;
use kube::api::ListParams;

use super::error::RetrieveError;
use super::readiness::NotReady;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::exec::ExecTarget;
use crate::names::{
    AGGREGATOR, AGGREGATOR_CONTAINER, AGGREGATOR_POD, LEGACY_AGGREGATOR_LABEL, ROLE_LABEL, STATUS_ANNOTATION,
    STATUS_ANNOTATION_ALIAS,
};

/// The aggregator's pod, running.
pub(super) struct Aggregator {
    /// Where its commands run.
    pub(super) target: ExecTarget,
    /// The status as it stands in the annotation.
    pub(super) annotation: Option<String>,
}

/// Finds the pod by its label, else by the label of old versions, else by its name.
///
/// # Errors
/// [`NotReady::Starting`] while it is pending; [`RetrieveError::Cluster`] where it is not there, has ended, or may not be looked at.
pub(super) async fn find(cluster: &Cluster, namespace: &str) -> Result<Aggregator, RetrieveError> {
    let pod = find_pod(cluster, namespace).await?;
    let name = pod.metadata.name.clone().unwrap_or_else(|| AGGREGATOR_POD.to_owned());
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref()).unwrap_or("Unknown");
    match phase {
        "Running" => {}
        "Pending" => return Err(NotReady::Starting(pending(&pod)).into()),
        ended => {
            let said = status.and_then(|status| status.message.as_deref().or(status.reason.as_deref()));
            let why = said.map(|text| format!(": {text}")).unwrap_or_default();
            let what = format!("read from the aggregator's pod `{name}` in namespace `{namespace}`");
            return Err(ClusterError::new(what, format!("its phase is {ended}{why}"))
                .hint("an archive can be read only while the pod runs; `plumbline logs` may tell how it ended")
                .into());
        }
    }
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let container = match containers.first() {
        Some(first) if !containers.iter().any(|container| container.name == AGGREGATOR_CONTAINER) => &first.name,
        _ => AGGREGATOR_CONTAINER,
    };
    let annotations = pod.metadata.annotations.as_ref();
    let annotation = [STATUS_ANNOTATION, STATUS_ANNOTATION_ALIAS]
        .iter()
        .find_map(|key| annotations?.get(*key))
        .filter(|text| !text.is_empty());
    Ok(Aggregator {
        target: ExecTarget { namespace: namespace.to_owned(), pod: name, container: container.to_owned() },
        annotation: annotation.cloned(),
    })
}

async fn find_pod(cluster: &Cluster, namespace: &str) -> Result<Pod, RetrieveError> {
    let pods: Api<Pod> = Api::namespaced(cluster.client(), namespace);
    let what = || format!("find the aggregator's pod in namespace `{namespace}`");
    let (key, value) = LEGACY_AGGREGATOR_LABEL;
    for selector in [format!("{ROLE_LABEL}={AGGREGATOR}"), format!("{key}={value}")] {
        match pods.list(&ListParams::default().labels(&selector)).await {
            Ok(list) => {
                if let Some(pod) = list.items.into_iter().next() {
                    return Ok(pod);
                }
            }
            // Whoever may not list may still read the one pod by its name.
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(ClusterError::api(what(), &error).into()),
        }
    }
    match pods.get_opt(AGGREGATOR_POD).await {
        Ok(Some(pod)) => Ok(pod),
        Ok(None) => Err(absent(cluster, namespace, what()).await.into()),
        Err(error) => Err(ClusterError::api(what(), &error).into()),
    }
}

async fn absent(cluster: &Cluster, namespace: &str, what: String) -> ClusterError {
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    match namespaces.get_opt(namespace).await {
        Ok(None) => ClusterError::new(what, format!("cluster `{}` has no such namespace", cluster.name()))
            .hint("name the run's namespace with `--namespace`, and the cluster with `--context`"),
        // Whether the namespace is there may not be ours to know.
        _ => ClusterError::new(what, "there is no such pod")
            .hint("was the run deleted? A run is started with `plumbline run`"),
    }
}

/// Why a pod is pending: what its first container waits for, or why it cannot be scheduled.
fn pending(pod: &Pod) -> String {
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    let waiting = containers.iter().find_map(|container| container.state.as_ref()?.waiting.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let unscheduled = conditions.iter().find(|c| c.type_ == "PodScheduled" && c.status == "False");
    let (reason, message) = match (waiting, unscheduled) {
        (Some(waiting), _) => (waiting.reason.as_deref(), waiting.message.as_deref()),
        (None, Some(condition)) => (condition.reason.as_deref(), condition.message.as_deref()),
        (None, None) => (None, None),
    };
    match (reason, message) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => "it is pending".to_owned(),
    }
}
