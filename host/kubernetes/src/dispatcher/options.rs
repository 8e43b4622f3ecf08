//! What a dispatcher works with.

use std::path::PathBuf;

use plumbline_aggregator::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::driver::Stage;
use crate::monitor::{Graces, MonitorOptions};
use crate::status::WorkerPods;

/// Adds what is known of the cluster to the tree of the run; see [`plumbline_aggregator::Dispatcher::survey`].
pub type Survey = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What a dispatcher works with.
pub struct KubernetesOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// What all plugins have in common, the namespace among it.
    pub stage: Stage,
    /// How patient the monitor is.
    pub graces: Graces,
    /// The tree that becomes the archive.
    pub tree: PathBuf,
    /// Told of every pod of a plugin.
    pub workers: WorkerPods,
    /// Cancelled when the first worker cannot reach the aggregator; `None`: the run goes on.
    pub fail_fast: Option<CancellationToken>,
    /// What is asked of the cluster once all plugins are complete; `None`: nothing.
    pub survey: Option<Survey>,
}

impl KubernetesOptions {
    pub(super) fn monitor(&self) -> MonitorOptions {
        MonitorOptions {
            cluster: self.cluster.clone(),
            namespace: self.stage.namespace.clone(),
            graces: self.graces.clone(),
            tree: self.tree.clone(),
            workers: self.workers.clone(),
            fail_fast: self.fail_fast.clone(),
        }
    }
}
