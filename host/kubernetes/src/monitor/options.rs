//! The options of the monitor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use plumbline_aggregator::WorkerContact;
use plumbline_core::{PluginName, ResultKey};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::status::WorkerPods;

/// Grace periods: how long a problem may last before it makes a result missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GracePeriods {
    /// An image cannot be pulled, or a container cannot be created. The default is 5 min.
    pub image_pull: Duration,
    /// A container is being created, but has not started, for example because a volume cannot be
    /// mounted. The default is 10 min.
    ///
    /// An image that is being pulled during this time is not a problem.
    pub starting: Duration,
    /// A pod cannot be scheduled. The default is 5 min.
    pub unschedulable: Duration,
    /// A node is gone or not ready. The default is 1 min.
    pub node_gone: Duration,
    /// A pod is gone and was not replaced. The default is 1 min.
    pub pod_gone: Duration,
    /// A container crashes repeatedly. The default is 1 min.
    pub crash_loop: Duration,
    /// The plugin's container ended, but no result arrived. The default is 1 min, which includes
    /// the worker's settle delay and upload.
    pub no_result: Duration,
    /// A worker's container is running, but has never contacted the aggregator. The default is 1
    /// min.
    pub hello: Duration,
    /// No pod was created for an expected node. The default is 5 min.
    pub no_pod: Duration,
    /// How long a worker may send no heartbeat, while its container is running, before it is
    /// reported. The default is 1 min, which is twice the heartbeat interval.
    pub silent: Duration,
    /// How much longer the run then waits for the result of such a worker. The default is 5 min.
    /// `None` means as long as its container is running.
    pub silent_lost: Option<Duration>,
}

impl Default for GracePeriods {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            image_pull: minutes(5),
            starting: minutes(10),
            unschedulable: minutes(5),
            node_gone: minutes(1),
            pod_gone: minutes(1),
            crash_loop: minutes(1),
            no_result: minutes(1),
            hello: minutes(1),
            no_pod: minutes(5),
            silent: minutes(1),
            silent_lost: Some(minutes(5)),
        }
    }
}

/// The options of the monitor.
#[derive(Clone)]
pub struct MonitorOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// The grace periods.
    pub graces: GracePeriods,
    /// The directory tree that becomes the archive. Logs of plugin pods go below `podlogs/`, and the
    /// cluster timeline is `meta/timeline.jsonl`.
    pub tree: PathBuf,
    /// Whether the timeline has warnings of all namespaces, and not only of the run's.
    pub all_warnings: bool,
    /// The receiver of every observed plugin pod.
    pub workers: WorkerPods,
    /// A token that is cancelled when a worker first fails to reach the aggregator. With `None`,
    /// the run continues.
    pub fail_fast: Option<CancellationToken>,
}

/// A plugin to watch.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The plugin.
    pub plugin: PluginName,
    /// The session ID, which is the value of the label on its pods.
    pub session: String,
    /// Whether the plugin runs once per node.
    pub per_node: bool,
    /// The results that are still missing.
    pub missing: BTreeSet<ResultKey>,
    /// The name of the plugin's own container. Others in the pod are sidecars.
    pub container: String,
    /// The known heartbeats, and the results that are still missing later.
    pub heard: WorkerContact,
}

/// A plugin whose results are complete.
#[derive(Debug, Clone)]
pub struct SettledPlugin {
    /// The plugin.
    pub plugin: PluginName,
    /// The session ID, which is the value of the label on its pods.
    pub session: String,
    /// Whether the plugin runs once per node.
    pub per_node: bool,
    /// The name of the plugin's own container.
    pub container: String,
    /// The results that arrived.
    pub received: BTreeSet<ResultKey>,
    /// The results that failed.
    pub failed: BTreeSet<ResultKey>,
}
