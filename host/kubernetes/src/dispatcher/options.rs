//! The options of the dispatcher.

use std::path::PathBuf;

use plumbline_aggregator::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::cluster::Cluster;
use crate::driver::Stage;
use crate::monitor::{GracePeriods, MonitorOptions};
use crate::status::WorkerPods;

/// A function that adds the survey of the cluster to the tree of the run (see
/// [`plumbline_aggregator::Dispatcher::survey`]).
pub type Survey = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The options of the dispatcher.
pub struct KubernetesOptions {
    /// The cluster.
    pub cluster: Cluster,
    /// The settings that all plugins share, including the namespace.
    pub stage: Stage,
    /// The grace periods of the monitor.
    pub graces: GracePeriods,
    /// The directory tree that becomes the archive.
    pub tree: PathBuf,
    /// The receiver of every observed plugin pod.
    pub workers: WorkerPods,
    /// A token that is cancelled when a worker first fails to reach the aggregator. With `None`,
    /// the run continues.
    pub fail_fast: Option<CancellationToken>,
    /// The survey of the cluster after all plugins are complete, or `None` for none.
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
