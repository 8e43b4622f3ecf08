//! `plumbline submission`

use clap::Subcommand;

/// Put together and check what is submitted of a conformance run.
#[derive(Debug, clap::Args)]
pub(crate) struct SubmissionArgs {
    #[command(subcommand)]
    pub(crate) command: SubmissionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubmissionCommand {}
