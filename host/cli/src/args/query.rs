//! `plumbline query`

use std::path::PathBuf;

use super::ClusterArgs;

/// Collect what a cluster says of itself: resources, host data, pod logs, versions, health.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What is collected: the configuration of a run (`config.json`); without it, everything but secrets
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The directory to write to; without it, what the configuration says, else a new one with an id for a name
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
