//! Which cluster, and where in it.

use std::path::PathBuf;

use plumbline_kubernetes::{ConnectOptions, names};

/// Options of every command that talks to a cluster.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClusterArgs {
    /// Namespace of the run
    #[arg(short, long, value_name = "NAME", default_value = names::DEFAULT_NAMESPACE)]
    pub(crate) namespace: String,
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the service account of this pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl ClusterArgs {
    /// How to reach the cluster.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}
