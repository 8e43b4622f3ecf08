//! `plumbline logs`

use super::ClusterArgs;

/// Print the logs of a run's pods.
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Go on with new lines, also of pods and containers that begin later, until the run is over
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the pods of this plugin; `sonobuoy` stands for the aggregator
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
}
