//! Finds the aggregator's pod for a client.

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

/// The running pod of the aggregator.
pub(super) struct Aggregator {
    /// The container in which commands are executed.
    pub(super) target: ExecTarget,
    /// The value of the status annotation.
    pub(super) annotation: Option<String>,
}

/// Finds the pod by its label, then by the label of old versions, then by its name.
///
/// # Errors
/// Returns [`NotReady::Starting`] while the pod is pending, and [`RetrieveError::Cluster`] if it
/// does not exist, has ended, or may not be read.
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
        // The account may lack permission to see whether the namespace exists.
        _ => ClusterError::new(what, "there is no such pod")
            .hint("was the run deleted? A run is started with `plumbline run`"),
    }
}
