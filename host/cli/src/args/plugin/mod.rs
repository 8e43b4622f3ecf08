//! `plumbline plugin`

mod keygen;
mod process;
mod sign;
mod verify;

use clap::Subcommand;

pub(crate) use keygen::KeygenArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use sign::SignArgs;
pub(crate) use verify::VerifyArgs;

/// Work on plugins: for their authors.
#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Post-process a directory and print the result tree
    Process(ProcessArgs),
    /// List the stock plugins and modules
    List,
    /// Make a key pair to sign bundles with
    Keygen(KeygenArgs),
    /// Sign a bundle
    Sign(SignArgs),
    /// Say whether a signature of a bundle counts
    Verify(VerifyArgs),
}
