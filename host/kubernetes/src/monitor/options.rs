//! What a monitor works on, and how patient it is.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use plumbline_aggregator::Heard;
use plumbline_core::{PluginName, ResultKey};
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::status::WorkerPods;

/// How long a trouble may last before it counts as a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graces {
    /// An image cannot be pulled, or a container cannot be created. Default 5 min.
    pub image_pull: Duration,
    /// A container is being created, and has not started: a volume that cannot be mounted, say. Default 10 min. An image that is being
    /// pulled all that time is no trouble.
    pub starting: Duration,
    /// A pod cannot be scheduled. Default 5 min.
    pub unschedulable: Duration,
    /// A node is gone, or not ready. Default 1 min.
    pub node_gone: Duration,
    /// A pod is gone and was not replaced. Default 1 min.
    pub pod_gone: Duration,
    /// A container crashes again and again. Default 1 min.
    pub crash_loop: Duration,
    /// The plugin's container ended and no result came. Default 1 min; the worker's settle delay and upload lie within.
    pub no_result: Duration,
    /// A worker's container runs and was not heard of. Default 1 min.
    pub hello: Duration,
    /// No pod was made for an expected node. Default 5 min.
    pub no_pod: Duration,
    /// A worker that sent heartbeats before has sent none for so long, although its container runs:
    /// it is reported. Default 1 min, twice the time between heartbeats.
    pub silent: Duration,
    /// How much longer the result of such a worker is waited for. Default 5 min. `None`: for as
    /// long as its container runs.
    pub silent_lost: Option<Duration>,
}

impl Default for Graces {
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

/// What a monitor works on.
#[derive(Clone)]
pub struct MonitorOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The namespace of the run.
    pub namespace: String,
    /// How patient it is.
    pub graces: Graces,
    /// The tree that becomes the archive: logs of plugin pods go below `podlogs/`.
    pub tree: PathBuf,
    /// Told of every pod of a plugin.
    pub workers: WorkerPods,
    /// Cancelled when the first worker cannot reach the aggregator; `None`: the run goes on.
    pub fail_fast: Option<CancellationToken>,
}

/// A plugin that is to be watched.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The plugin.
    pub plugin: PluginName,
    /// Its session id: the value of the label on its pods.
    pub session: String,
    /// Whether it runs once per node.
    pub per_node: bool,
    /// The results that are still missing.
    pub missing: BTreeSet<ResultKey>,
    /// The name of the plugin's own container; others in the pod are sidecars.
    pub container: String,
    /// Which workers were heard of, and which results are still missing later on.
    pub heard: Heard,
}
