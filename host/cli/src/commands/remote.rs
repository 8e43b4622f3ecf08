//! What commands that talk to a cluster have in common.

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_kubernetes::{Cluster, ClusterError};

use crate::args::{ClusterArgs, ExitCodes, Global};
use crate::error::{PrintError as _, SYSTEM};

/// The way to the cluster.
pub(super) async fn connect(args: &ClusterArgs) -> Result<Cluster, ClusterError> {
    Cluster::connect(&args.connect_options()).await
}

/// What went wrong with the cluster, for a person.
pub(super) fn explain(error: &ClusterError) -> AppError {
    AppError::cluster(error)
}

/// Tells an error; the exit code, `strict` unless Sonobuoy's are wanted, then `compat`.
pub(super) fn fail(error: &AppError, global: &Global, strict: u8, compat: u8) -> ExitCode {
    error.print();
    ExitCode::from(match global.exit_code {
        ExitCodes::Strict => strict,
        ExitCodes::Compat => compat,
    })
}

/// Tells what went wrong with the cluster; the exit code of that, which Sonobuoy gives as 1.
pub(super) fn fail_cluster(error: &ClusterError, global: &Global) -> ExitCode {
    fail(&explain(error), global, SYSTEM, 1)
}
