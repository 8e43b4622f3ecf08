//! `plumbline plugin new`

use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_author::new_project;
use plumbline_core::shell_path;

use super::author;
use crate::args::{Global, NewArgs};
use crate::logging;
use crate::ui::say;

/// Writes a new project.
pub(crate) fn new(args: &NewArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let directory = args.dir.as_deref().unwrap_or(Path::new(&args.name));
    let new = new_project(&args.name, args.lang, args.world.as_deref(), directory).map_err(author::error)?;
    if let Some(format) = args.format {
        author::print(&new, format)?;
    }
    say(&format!("wrote `{}`: a project in {} with {} files", directory.display(), new.language, new.files.len()));
    say("next:");
    say(&format!("  cd {}", shell_path(directory)));
    say("  plumbline plugin build");
    say("  plumbline plugin test");
    Ok(ExitCode::SUCCESS)
}
