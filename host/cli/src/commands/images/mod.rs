//! `plumbline images`

mod ask;
mod check;
mod gather;
mod list;
mod moves;
mod report;
mod save;

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::{Global, ImagesArgs, ImagesCommand};
use crate::error::CliError;
use crate::logging;

pub(super) use ask::ask;

/// Does what the subcommand says.
pub(crate) fn images(args: &ImagesArgs, global: &Global) -> Result<ExitCode, CliError> {
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

/// One runtime for all that a command asks of registries: connections belong to the runtime that they were made in.
pub(super) fn wait<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| CliError::system("registries cannot be asked").because(&error))?;
    runtime.block_on(work)
}

/// The layout that `pull` fills and `push` empties nothing of (XDG Base Directory Specification).
fn own_layout() -> Result<PathBuf, CliError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("plumbline/images")).ok_or_else(|| {
        CliError::usage("there is no directory to keep images in: there is no home")
            .hint("say where: set `XDG_DATA_HOME` to a directory")
    })
}
