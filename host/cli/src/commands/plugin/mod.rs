//! `plumbline plugin`: one file per command.

mod author;
mod build;
mod check;
mod describe;
mod install;
mod list;
mod lock;
mod new;
mod pack;
mod process;
mod show;
mod uninstall;

use std::process::ExitCode;

use crate::args::{Global, PluginArgs, PluginCommand};
use crate::error::CliError;

/// Does what the arguments say.
pub(crate) fn plugin(args: &PluginArgs, global: &Global) -> Result<ExitCode, CliError> {
    match &args.command {
        PluginCommand::New(args) => new::new(args, global),
        PluginCommand::Build(args) => build::build(args, global),
        PluginCommand::Check(args) => check::check(args, global),
        PluginCommand::Process(args) => process::process(args, global),
        PluginCommand::Pack(args) => pack::pack(args, global),
        PluginCommand::Install(args) => install::install(args, global),
        PluginCommand::Uninstall(args) => uninstall::uninstall(args, global),
        PluginCommand::List(args) => list::list(args, global),
        PluginCommand::Show(args) => show::show(args, global),
        PluginCommand::Lock(args) => lock::lock(args, global),
    }
}
