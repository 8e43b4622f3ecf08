//! `plumbline plugin pull`

use std::path::PathBuf;

use crate::args::RegistryArgs;

/// `plumbline plugin pull`
#[derive(Debug, clap::Args)]
pub(crate) struct PullArgs {
    /// What: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`
    #[arg(value_name = "OCI")]
    pub(crate) reference: String,
    /// Where to: a file that ends in `.tar` is the packed bundle, any other name a new directory into which it is unpacked; without it, `NAME.bundle.tar`, or `NAME.wasm` for a single WebAssembly file
    #[arg(short, long, value_name = "FILE|DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print digests and size as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
