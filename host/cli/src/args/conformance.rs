//! `plumbline conformance`

use clap::Subcommand;

/// Run the Kubernetes conformance suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) command: ConformanceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {}
