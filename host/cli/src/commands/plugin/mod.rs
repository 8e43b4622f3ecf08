//! `plumbline plugin`: one file per command.

mod keygen;
mod list;
mod print;
mod process;
mod sign;
mod verify;

use std::process::ExitCode;

use crate::args::{Global, PluginArgs, PluginCommand};
use crate::error::CliError;

/// Does what the arguments say.
pub(crate) fn plugin(args: &PluginArgs, global: &Global) -> Result<ExitCode, CliError> {
    match &args.command {
        PluginCommand::Process(args) => process::process(args, global),
        PluginCommand::List => list::list(global),
        PluginCommand::Keygen(args) => keygen::keygen(args, global),
        PluginCommand::Sign(args) => sign::sign(args, global),
        PluginCommand::Verify(args) => verify::verify(args, global),
    }
}
