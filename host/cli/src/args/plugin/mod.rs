//! `plumbline plugin`

mod build;
mod check;
mod new;
mod process;

use clap::Subcommand;

pub(crate) use build::BuildArgs;
pub(crate) use check::CheckArgs;
pub(crate) use new::NewArgs;
pub(crate) use process::ProcessArgs;

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
    /// List the stock plugins and modules
    List,
}
