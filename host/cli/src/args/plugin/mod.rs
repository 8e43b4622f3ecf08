//! `plumbline plugin`

mod process;

use clap::Subcommand;

pub(crate) use process::ProcessArgs;

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
}
