//! `plumbline plugin`: one file per command.

mod list;
mod process;

use std::process::ExitCode;

use crate::args::{Global, PluginArgs, PluginCommand};
use crate::error::CliError;

/// Does what the arguments say.
pub(crate) fn plugin(args: &PluginArgs, global: &Global) -> Result<ExitCode, CliError> {
    match &args.command {
        PluginCommand::Process(args) => process::process(args, global),
        PluginCommand::List => list::list(global),
    }
}
