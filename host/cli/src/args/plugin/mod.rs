//! `plumbline plugin`

mod dev;
mod inspect;
mod build;
mod check;
mod new;
mod process;
mod test;

use clap::Subcommand;

pub(crate) use dev::DevArgs;
pub(crate) use inspect::InspectArgs;
pub(crate) use build::BuildArgs;
pub(crate) use check::CheckArgs;
pub(crate) use new::NewArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use test::{TestArgs, TextOrJson};

/// Work on plugins: for their authors.
#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Begin a project: a plugin with a module of its own
    New(NewArgs),
    /// Build a project's module
    Build(BuildArgs),
    /// Find what would go wrong later
    Check(CheckArgs),
    /// Post-process a directory and print the result tree
    Process(ProcessArgs),
    /// Run a plugin's golden cases: results, and the tree that they must become
    Test(TestArgs),
    /// Build and test a plugin whenever something in its directory changes
    Dev(DevArgs),
    /// Say what a module or a bundle is, without running it
    Inspect(InspectArgs),
    /// List the stock plugins and modules
    List,
}
