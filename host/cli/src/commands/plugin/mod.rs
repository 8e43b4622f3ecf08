//! `plumbline plugin`: one file per command.

mod author;
mod bake;
mod build;
mod check;
mod dev;
mod inspect;
mod install;
mod keygen;
mod list;
mod load;
mod lock;
mod new;
mod pack;
mod print;
mod process;
mod pull;
mod push;
mod save;
mod show;
mod sign;
mod test;
mod uninstall;
mod verify;

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::{Global, PluginArgs, PluginCommand};

/// Runs the subcommand.
pub(crate) fn plugin(args: &PluginArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        PluginCommand::New(args) => new::new(args, global),
        PluginCommand::Build(args) => build::build(args, global),
        PluginCommand::Check(args) => check::check(args, global),
        PluginCommand::Test(args) => test::test(args, global),
        PluginCommand::Dev(args) => dev::dev(args, global),
        PluginCommand::Process(args) => process::process(args, global),
        PluginCommand::Inspect(args) => inspect::inspect(args, global),
        PluginCommand::Pack(args) => pack::pack(args, global),
        PluginCommand::Keygen(args) => keygen::keygen(args, global),
        PluginCommand::Sign(args) => sign::sign(args, global),
        PluginCommand::Verify(args) => verify::verify(args, global),
        PluginCommand::Push(args) => push::push(args, global),
        PluginCommand::Pull(args) => pull::pull(args, global),
        PluginCommand::Save(args) => save::save(args, global),
        PluginCommand::Load(args) => load::load(args, global),
        PluginCommand::Bake(args) => bake::bake(args, global),
        PluginCommand::Install(args) => install::install(args, global),
        PluginCommand::Uninstall(args) => uninstall::uninstall(args, global),
        PluginCommand::List(args) => list::list(args, global),
        PluginCommand::Show(args) => show::show(args, global),
        PluginCommand::Lock(args) => lock::lock(args, global),
    }
}
