//! Connections and errors of commands that connect to a cluster.

use std::process::ExitCode;

use plumbline_app::AppError;
pub(crate) use plumbline_app::options::ClusterArgs;
use plumbline_kubernetes::{Cluster, ClusterError};

use crate::args::global::{ExitCodes, Global};
use crate::error::{PrintError as _, SYSTEM};

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
