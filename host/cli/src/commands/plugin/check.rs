//! `plumbline plugin check`

use std::io::{self, Write};
use std::process::ExitCode;

use plumbline_app::limits::Limits;
use plumbline_app::report::text::size;
use plumbline_app::{AppError, modules};
use plumbline_author::check::{Checked, Host, Level, check as check_path};

use super::author;
use crate::args::{CheckArgs, Global};
use crate::logging;

/// Exit code if the check finds a problem.
const WRONG: u8 = 1;

/// Finds problems that would otherwise appear later.
pub(crate) fn check(args: &CheckArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let limits = Limits::load(args.limits.file.as_deref())?;
    let (sandbox, built_in) = modules::sandbox(&limits)?;
    let built_in = built_in.iter().map(|module| module.info()).collect();
    let host = Host { sandbox: &sandbox, built_in, limits: &limits.modules };
    let checked = check_path(&args.path, &host).map_err(author::error)?;
    match args.format {
        Some(format) => author::print(&checked, format)?,
        None => report(&checked).map_err(|error| AppError::printing("failed to print the findings", &error))?,
    }
    Ok(if checked.count(Level::Error) > 0 { ExitCode::from(WRONG) } else { ExitCode::SUCCESS })
}

fn report(checked: &Checked) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    let bold = anstyle::Style::new().bold();
    let red = bold.fg_color(Some(anstyle::AnsiColor::Red.into()));
    let yellow = bold.fg_color(Some(anstyle::AnsiColor::Yellow.into()));
    for module in &checked.modules {
        let generation = module.generation.as_deref().unwrap_or("?");
        let roles = module.roles.join(", ");
        writeln!(out, "{}: {roles}, contract {generation}, {}", module.file, size(module.size))?;
    }
    for finding in &checked.findings {
        let (style, word) = match finding.level {
            Level::Error => (red, "error"),
            Level::Warning => (yellow, "warning"),
        };
        writeln!(out, "{style}{word}:{style:#} {}: {}", finding.place, finding.what)?;
        if let Some(hint) = &finding.hint {
            writeln!(out, "  {bold}hint:{bold:#} {hint}")?;
        }
    }
    let (errors, warnings) = (checked.count(Level::Error), checked.count(Level::Warning));
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    writeln!(out, "{}: {errors} error{}, {warnings} warning{}", checked.path, plural(errors), plural(warnings))
}
