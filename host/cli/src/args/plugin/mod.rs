//! `plumbline plugin`

mod build;
mod check;
mod data;
mod install;
mod list;
mod lock;
mod new;
mod pack;
mod process;
mod show;
mod uninstall;

use clap::Subcommand;

pub(crate) use build::BuildArgs;
pub(crate) use check::CheckArgs;
pub(crate) use data::DataFormat;
pub(crate) use install::InstallArgs;
pub(crate) use list::ListArgs;
pub(crate) use lock::LockArgs;
pub(crate) use new::NewArgs;
pub(crate) use pack::PackArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use show::ShowArgs;
pub(crate) use uninstall::UninstallArgs;

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
    /// Pack a plugin's directory as a tar: the same files, the same digest
    Pack(PackArgs),
    /// Install bundles, so that they are found by their name
    Install(InstallArgs),
    /// Remove installed bundles
    Uninstall(UninstallArgs),
    /// List plugins and modules: stock, installed, and those that the incumbent has installed
    List(ListArgs),
    /// Show a plugin: its definition, its modules, its digest, where it comes from
    Show(ShowArgs),
    /// Write down by digest which plugins, exactly, a set consists of
    Lock(LockArgs),
}
