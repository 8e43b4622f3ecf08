//! `plumbline plugin save`

use std::path::PathBuf;

use crate::args::RegistryArgs;

/// `plumbline plugin save`
#[derive(Debug, clap::Args)]
pub(crate) struct SaveArgs {
    /// What: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(required = true, value_name = "OCI")]
    pub(crate) references: Vec<String>,
    /// Where to: an archive if the name ends in `.tar`, else a directory, which is made, or extended if it holds an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
