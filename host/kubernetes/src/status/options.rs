//! Where the status is published, and how.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plumbline_core::RunId;

use super::pace::Pace;
use super::worker_pods::WorkerPods;
use crate::cluster::Cluster;

/// Where the status goes.
#[derive(Clone)]
pub struct PublishOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// The aggregator's own pod.
    pub pod: String,
    /// The run.
    pub run: RunId,
    /// The owner of the ConfigMap with the status in full: the aggregator's pod, so that it goes with it.
    pub owner: Option<OwnerReference>,
    /// The pods of plugins, as the run's monitor sees them.
    pub workers: WorkerPods,
    /// How often.
    pub pace: Pace,
}
