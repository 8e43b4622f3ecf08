//! `plumbline plugin`

mod dev;
mod inspect;
mod process;
mod test;

use clap::Subcommand;

pub(crate) use dev::DevArgs;
pub(crate) use inspect::InspectArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use test::{TestArgs, TextOrJson};
mod data;
mod install;
mod list;
mod lock;
mod pack;
mod process;
mod show;
mod uninstall;

use clap::Subcommand;

pub(crate) use data::DataFormat;
pub(crate) use install::InstallArgs;
pub(crate) use list::ListArgs;
pub(crate) use lock::LockArgs;
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
