//! `plumbline plugin`

mod data;
mod install;
mod keygen;
mod list;
mod load;
mod lock;
mod pack;
mod process;
mod pull;
mod push;
mod save;
mod show;
mod sign;
mod uninstall;
mod verify;

use clap::Subcommand;

pub(crate) use data::DataFormat;
pub(crate) use install::InstallArgs;
pub(crate) use keygen::KeygenArgs;
pub(crate) use list::ListArgs;
pub(crate) use load::LoadArgs;
pub(crate) use lock::LockArgs;
pub(crate) use pack::PackArgs;
pub(crate) use process::ProcessArgs;
pub(crate) use pull::PullArgs;
pub(crate) use push::PushArgs;
pub(crate) use save::SaveArgs;
pub(crate) use show::ShowArgs;
pub(crate) use sign::SignArgs;
pub(crate) use uninstall::UninstallArgs;
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
    /// Make a key pair to sign bundles with
    Keygen(KeygenArgs),
    /// Sign a bundle
    Sign(SignArgs),
    /// Say whether a signature of a bundle counts
    Verify(VerifyArgs),
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
    /// Push a bundle or a WebAssembly file to a registry, with the signatures that stand beside it
    Push(PushArgs),
    /// Fetch a bundle or a WebAssembly file from a registry
    Pull(PullArgs),
    /// Copy from a registry into an OCI layout, to be carried to where no registry is reached
    Save(SaveArgs),
    /// Copy an OCI layout into a registry, or install what is in it
    Load(LoadArgs),
}
