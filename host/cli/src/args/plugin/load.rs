//! `plumbline plugin load`

use std::path::PathBuf;

use crate::args::RegistryArgs;

/// `plumbline plugin load`
#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// An OCI layout: a directory, or an archive of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Copy into a registry: `oci://HOST[:PORT]/NAME[:TAG]` for the only one that is there, or `oci://HOST[:PORT]/[PREFIX/]`, with a `/` at the end, for all, under the names that they have
    #[arg(long, value_name = "OCI", conflicts_with = "install")]
    pub(crate) to: Option<String>,
    /// Install the bundles, so that they are found by their name
    #[arg(long)]
    pub(crate) install: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
