//! `plumbline plugin`: one file per command.

mod dev;
mod inspect;
mod author;
mod build;
mod check;
mod list;
mod new;
mod process;
mod test;

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
        PluginCommand::Test(args) => test::test(args, global),
        PluginCommand::Dev(args) => dev::dev(args, global),
        PluginCommand::Inspect(args) => inspect::inspect(args, global),
        PluginCommand::List => list::list(global),
    }
}
