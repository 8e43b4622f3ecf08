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

/// Write, share and use plugins.
#[derive(Debug, clap::Args)]
pub(crate) struct PluginArgs {
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Create a project: a plugin with a module of its own
    New(NewArgs),
    /// Build the module of a project
    Build(BuildArgs),
    /// Check a definition, module or bundle for mistakes
    Check(CheckArgs),
    /// Run the golden cases of a plugin: compare result trees with the expected ones
    Test(TestArgs),
    /// Rebuild and retest a plugin at every change of its directory
    Dev(DevArgs),
    /// Post-process a directory and print the result tree
    Process(ProcessArgs),
    /// Describe a module or bundle without running it
    Inspect(InspectArgs),
    /// Pack the directory of a plugin as a reproducible tar
    Pack(PackArgs),
    /// Generate a key pair for signing bundles
    Keygen(KeygenArgs),
    /// Sign a bundle
    Sign(SignArgs),
    /// Verify the signature of a bundle
    Verify(VerifyArgs),
    /// Push a bundle with its signatures, or a WebAssembly file, to a registry
    Push(PushArgs),
    /// Pull a bundle or a WebAssembly file from a registry
    Pull(PullArgs),
    /// Copy a bundle from a registry into an OCI layout, for machines without a registry
    Save(SaveArgs),
    /// Copy an OCI layout into a registry, or install its bundles
    Load(LoadArgs),
    /// Add bundles to a container image, where an aggregator finds them
    Bake(BakeArgs),
    /// Install bundles, so that commands find them by name
    Install(InstallArgs),
    /// Remove installed bundles
    Uninstall(UninstallArgs),
    /// List plugins and modules: built-in, installed, and installed by Sonobuoy
    List(ListArgs),
    /// Show the definition, modules, digest and origin of a plugin
    Show(ShowArgs),
    /// Record the digests of a set of plugins in a lock file
    Lock(LockArgs),
}
