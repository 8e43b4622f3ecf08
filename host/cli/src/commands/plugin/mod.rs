//! `plumbline plugin`: one file per command.

mod author;
mod build;
mod check;
mod list;
mod new;
mod process;

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
        PluginCommand::List => list::list(global),
    }
}
