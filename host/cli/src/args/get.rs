//! `plumbline get`

use clap::Subcommand;

use super::ClusterArgs;

/// Print the names of objects of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    #[command(subcommand)]
    pub(crate) command: GetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// Print the names of the pods of plugins
    #[command(alias = "pods")]
    Pod(GetPodArgs),
}

/// `plumbline get pod`
#[derive(Debug, clap::Args)]
pub(crate) struct GetPodArgs {
    /// Only those of this plugin
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<plumbline_core::PluginName>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
