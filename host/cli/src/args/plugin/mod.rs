//! `plumbline plugin`

mod author;
mod distribute;
mod installed;
mod signing;

use clap::Subcommand;

pub(crate) use author::{BuildArgs, CheckArgs, DevArgs, InspectArgs, NewArgs, ProcessArgs, TestArgs};
pub(crate) use distribute::{BakeArgs, LoadArgs, LockArgs, PackArgs, PullArgs, PushArgs, SaveArgs};
pub(crate) use installed::{DataFormat, InstallArgs, ListArgs, ShowArgs, UninstallArgs};
pub(crate) use signing::{KeygenArgs, SignArgs, VerifyArgs};

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
    /// Run a plugin's golden cases: results, and the tree that they must become
    Test(TestArgs),
    /// Build and test a plugin whenever something in its directory changes
    Dev(DevArgs),
    /// Post-process a directory and print the result tree
    Process(ProcessArgs),
    /// Say what a module or a bundle is, without running it
    Inspect(InspectArgs),
    /// Pack a plugin's directory as a tar: the same files, the same digest
    Pack(PackArgs),
    /// Make a key pair to sign bundles with
    Keygen(KeygenArgs),
    /// Sign a bundle
    Sign(SignArgs),
    /// Say whether a signature of a bundle counts
    Verify(VerifyArgs),
    /// Push a bundle or a WebAssembly file to a registry, with the signatures that stand beside it
    Push(PushArgs),
    /// Fetch a bundle or a WebAssembly file from a registry
    Pull(PullArgs),
    /// Copy from a registry into an OCI layout, to be carried to where no registry is reached
    Save(SaveArgs),
    /// Copy an OCI layout into a registry, or install what is in it
    Load(LoadArgs),
    /// Put bundles into a container image, where the aggregator of a cluster finds them
    Bake(BakeArgs),
    /// Install bundles, so that they are found by their name
    Install(InstallArgs),
    /// Remove installed bundles
    Uninstall(UninstallArgs),
    /// List plugins and modules: built-in, installed, and those that Sonobuoy has installed
    List(ListArgs),
    /// Show a plugin: its definition, its modules, its digest, where it comes from
    Show(ShowArgs),
    /// Write down by digest which plugins, exactly, a set consists of
    Lock(LockArgs),
}
