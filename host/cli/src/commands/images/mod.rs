//! `plumbline images`

use std::process::ExitCode;

use plumbline_app::AppError;

use crate::args::{Global, ImagesArgs, ImagesCommand};
use crate::logging;

mod ask;
mod check;
mod gather;
mod layout;
mod list;
mod moves;
mod report;
mod save;

pub(super) use ask::ask;

/// Does what the subcommand says.
pub(crate) fn images(args: &ImagesArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    match &args.command {
        ImagesCommand::List(args) => list::list(args),
        ImagesCommand::Copy(args) => moves::copy(args),
        ImagesCommand::Save(args) => save::save(args),
        ImagesCommand::Pull(args) => save::pull(args),
        ImagesCommand::Load(args) => moves::load(args),
        ImagesCommand::Push(args) => moves::push(args),
        ImagesCommand::Check(args) => check::check(args),
    }
}
