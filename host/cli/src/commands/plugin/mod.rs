//! `plumbline plugin`

mod author;
mod dev;
mod distribute;
mod inspect;
mod installed;
mod signing;
mod test;

use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::AppError;

use crate::args::global::Global;
use crate::args::shared::OutputArgs;
use crate::commands::plugin::author::{BuildArgs, LintArgs, NewArgs, PostprocessArgs, RunArgs};
use crate::commands::plugin::dev::DevArgs;
use crate::commands::plugin::distribute::{BakeArgs, LoadArgs, PackArgs, PullArgs, PushArgs, SaveArgs};
use crate::commands::plugin::inspect::InspectArgs;
use crate::commands::plugin::installed::{InstallArgs, ShowArgs, UninstallArgs};
use crate::commands::plugin::signing::{KeygenArgs, LockArgs, SignArgs, VerifyArgs};
use crate::commands::plugin::test::TestArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Create a project: a plugin with a module of its own
    New(NewArgs),
    /// Build the module of a project
    Build(BuildArgs),
    /// Check a definition, module or bundle for mistakes
    #[command(alias = "check")]
    Lint(LintArgs),
    /// Run the golden cases of a plugin: compare result trees with the expected ones
    Test(TestArgs),
    /// Rebuild and retest a plugin whenever its directory changes
    Dev(DevArgs),
    /// Run a check on this machine and print the result tree
    Run(RunArgs),
    /// Post-process a directory and print the result tree
    #[command(alias = "process")]
    Postprocess(PostprocessArgs),
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
    List(OutputArgs),
    /// Show the definition, modules, digest and origin of a plugin
    Show(ShowArgs),
    /// Record the digests of a set of plugins in a lock file
    Lock(LockArgs),
}

pub(crate) fn plugin(command: &PluginCommand, global: &Global) -> Result<ExitCode, AppError> {
    match command {
        PluginCommand::New(args) => author::new(args),
        PluginCommand::Build(args) => author::build(args),
        PluginCommand::Lint(args) => author::lint(args),
        PluginCommand::Test(args) => test::test(args),
        PluginCommand::Dev(args) => dev::dev(args),
        PluginCommand::Run(args) => author::run(args, global),
        PluginCommand::Postprocess(args) => author::postprocess(args, global),
        PluginCommand::Inspect(args) => inspect::inspect(args),
        PluginCommand::Pack(args) => distribute::pack(args),
        PluginCommand::Keygen(args) => signing::keygen(args),
        PluginCommand::Sign(args) => signing::sign(args),
        PluginCommand::Verify(args) => signing::verify(args),
        PluginCommand::Push(args) => distribute::push(args),
        PluginCommand::Pull(args) => distribute::pull(args),
        PluginCommand::Save(args) => distribute::save(args),
        PluginCommand::Load(args) => distribute::load(args),
        PluginCommand::Bake(args) => distribute::bake(args),
        PluginCommand::Install(args) => installed::install(args),
        PluginCommand::Uninstall(args) => installed::uninstall(args),
        PluginCommand::List(output) => installed::list(*output),
        PluginCommand::Show(args) => installed::show(args),
        PluginCommand::Lock(args) => signing::lock(args),
    }
}
