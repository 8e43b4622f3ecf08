//! `plumbline plugin build`

use std::io::{self, Write};
use std::process::ExitCode;

use plumbline_app::limits::Limits;
use plumbline_app::report::text::size;
use plumbline_app::{AppError, modules};
use plumbline_author::{Built, Project};

use super::author;
use crate::args::{BuildArgs, Global};
use crate::logging;
use crate::ui::say;

/// Builds a project's module.
pub(crate) fn build(args: &BuildArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let project = Project::open(&args.dir).map_err(author::error)?;
    // Every other command uses the same sandbox, so they reuse the module compiled here from the
    // cache.
    let (sandbox, _) = modules::sandbox(&Limits::default())?;
    let built = plumbline_author::build(&project, &sandbox, &mut say).map_err(author::error)?;
    match args.format {
        Some(format) => author::print(&built, format)?,
        None => report(&built).map_err(|error| AppError::printing("failed to print the report", &error))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn report(built: &Built) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    writeln!(out, "{}", built.module.display())?;
    writeln!(out, "  size       {}", size(built.size))?;
    writeln!(out, "  roles      {}", built.roles.join(", "))?;
    writeln!(out, "  formats    {}", none(built.formats.join(", ")))?;
    writeln!(out, "  contract   {}", built.generation.as_deref().unwrap_or("?"))?;
    writeln!(out, "  imports    {}", none(built.imports.join(", ")))?;
    writeln!(out, "  digest     {}", built.digest)?;
    let changed = if built.changed { "" } else { ", the same as before" };
    writeln!(out, "  built in   {:.1} s{changed}", built.seconds)
}
