//! Options and errors of commands that connect to a cluster.

use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_kubernetes::{Cluster, ClusterError, ConnectOptions, names};

use crate::args::global::{ExitCodes, Global};
use crate::error::{PrintError as _, SYSTEM};

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
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}

/// Connects to the cluster.
pub(super) async fn connect(args: &ClusterArgs) -> Result<Cluster, ClusterError> {
    Cluster::connect(&args.connect_options()).await
}

/// Prints an error, and returns the exit code: `strict`, or `compat` with Sonobuoy's codes.
pub(super) fn fail(error: &AppError, global: &Global, strict: u8, compat: u8) -> ExitCode {
    error.print();
    ExitCode::from(match global.exit_code {
        ExitCodes::Strict => strict,
        ExitCodes::Compat => compat,
    })
}

/// Prints an error of the cluster, and returns its exit code, which is 1 with Sonobuoy's codes.
pub(super) fn fail_cluster(error: &ClusterError, global: &Global) -> ExitCode {
    fail(&AppError::cluster(error), global, SYSTEM, 1)
}
