//! `plumbline conformance`

use std::path::PathBuf;

use clap::Subcommand;

use super::{RequiredFrom, RunOptions};

/// Run the Kubernetes conformance suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) command: ConformanceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// Look at the cluster, run the suite, follow it, bring the archive home, and say how it went: as
    /// `plumbline run --plugin e2e --wait --retrieve` does
    Run(Box<ConformanceRunArgs>),
}

/// `plumbline conformance run`
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceRunArgs {
    /// Put together and check what is submitted for a certificate, in this directory; the mode is then `certified-conformance` unless
    /// tests are chosen otherwise
    #[arg(long, value_name = "DIR", requires = "product")]
    pub(crate) submission_dir: Option<PathBuf>,
    /// What is submitted: a `PRODUCT.yaml`
    #[arg(long, value_name = "FILE", requires = "submission_dir")]
    pub(crate) product: Option<PathBuf>,
    /// Which tests a certificate requires: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image on this machine; without
    /// it, the list that comes with this program for some versions
    #[arg(long, value_name = "FILE|image[:REF]", requires = "submission_dir")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) run: RunOptions,
}
