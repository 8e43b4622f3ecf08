//! The options for publishing the status.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_core::RunId;

use super::pace::Pace;
use super::worker_pods::WorkerPods;
use crate::cluster::Cluster;

/// The destination of the status.
#[derive(Clone)]
pub struct PublishOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// The aggregator's own pod.
    pub pod: String,
    /// The ID of the run.
    pub run: RunId,
    /// The owner of the ConfigMap with the full status: the aggregator's pod, so that both are
    /// deleted together.
    pub owner: Option<OwnerReference>,
    /// The pods of plugins that the run's monitor sees.
    pub workers: WorkerPods,
    /// The write intervals.
    pub pace: Pace,
}
