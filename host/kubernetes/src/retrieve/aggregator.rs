//! The aggregator's pod, as a client finds it.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

use super::error::RetrieveError;
use super::readiness::NotReady;
use crate::aggregator_pod;
use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::exec::ExecTarget;
use crate::names::AGGREGATOR_CONTAINER;
use crate::pod_view::{Role, pod_api};
use crate::status::Waiting;

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
    let Some(pod) = aggregator_pod::find(&pod_api(cluster, namespace), namespace).await? else {
        return Err(absent(cluster, namespace).await.into());
    };
    match pod.phase.as_str() {
        "Running" => {}
        "Pending" => {
            let why = Waiting::of(&pod).map_or_else(|| "it is pending".to_owned(), |waiting| waiting.words());
            return Err(NotReady::Starting(why).into());
        }
        ended => {
            let said = pod.message.as_deref().or(pod.reason.as_deref());
            let why = said.map(|text| format!(": {text}")).unwrap_or_default();
            let what = format!("read from the aggregator's pod `{}` in namespace `{namespace}`", pod.name);
            let phase = if ended.is_empty() { "Unknown" } else { ended };
            return Err(ClusterError::new(what, format!("its phase is {phase}{why}"))
                .hint("an archive can be read only while the pod runs; `plumbline logs` may tell how it ended")
                .into());
        }
    }
    let container = match pod.containers.iter().find(|container| container.role == Role::Main) {
        Some(first) if pod.container(AGGREGATOR_CONTAINER).is_none() => first.name.clone(),
        _ => AGGREGATOR_CONTAINER.to_owned(),
    };
    Ok(Aggregator {
        target: ExecTarget { namespace: namespace.to_owned(), pod: pod.name, container },
        annotation: pod.run_status,
    })
}

async fn absent(cluster: &Cluster, namespace: &str) -> ClusterError {
    let what = format!("find the aggregator's pod in namespace `{namespace}`");
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    match namespaces.get_opt(namespace).await {
        Ok(None) => ClusterError::new(what, format!("cluster `{}` has no such namespace", cluster.name()))
            .hint("name the run's namespace with `--namespace`, and the cluster with `--context`"),
        // Whether the namespace is there may not be ours to know.
        _ => ClusterError::new(what, "there is no such pod")
            .hint("was the run deleted? A run is started with `plumbline run`"),
    }
}
