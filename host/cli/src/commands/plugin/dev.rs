//! `plumbline plugin dev`

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use plumbline_aggregator::Modules;
use plumbline_app::limits::Limits;
use plumbline_app::runtime::one_thread;
use plumbline_app::{AppError, modules};
use plumbline_author::AuthorError;
use plumbline_author::golden::Project;
use plumbline_author::project::{MANIFEST_FILE, Project as Sources};
use plumbline_author::watch::{Built, QUIET, Round, RoundReport, Watch, try_out};
use plumbline_core::size::Bytes;
use plumbline_sandbox::Sandbox;

use super::test::{print, refused};
use crate::args::{DevArgs, Global};
use crate::logging;
use crate::ui::say;

/// Maximum changed paths printed per round.
const NAMED: usize = 3;

/// Builds and tests the project after every change, until it is interrupted.
pub(crate) fn dev(args: &DevArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    // An invalid project directory is reported at once.
    let project = Project::open(&args.dir).map_err(|error| refused(&error))?;
    let limits = Limits::load(args.limits.file.as_deref())?;
    let (sandbox, built_in) = modules::sandbox(&limits)?;
    let (watch, _stopper) = Watch::new(&project.dir, QUIET).map_err(|error| watching(&error))?;
    say(&format!("watching {}; Ctrl-C ends", project.dir.display()));
    let dir = project.dir.clone();
    // The loop blocks, and this process may end meanwhile, so it has its own thread.
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let watched = watch.run(|round| {
            let modules = Modules::new(sandbox.clone(), built_in.clone());
            let report = try_out(&dir, &mut |dir| build(dir, &sandbox), &modules, &limits.modules);
            // Write errors are ignored, because the next round prints the report again.
            let _ = show(round, &report, &mut anstream::stdout().lock());
        });
        // Fails only when this process is ending.
        let _ = ended.send(watched);
    });
    let runtime = one_thread()?;
    runtime.block_on(async {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
            watched = end => match watched {
                Ok(Err(error)) => Err(watching(&error)),
                Ok(Ok(())) | Err(_) => Ok(ExitCode::SUCCESS),
            },
        }
    })
}

/// Builds the project. Without `module.yaml`, there is nothing to build, because its modules come
/// from elsewhere.
fn build(dir: &Path, sandbox: &Sandbox) -> Built {
    if !dir.join(MANIFEST_FILE).exists() {
        return Ok(format!("nothing to build: there is no `{MANIFEST_FILE}`"));
    }
    let told = |error: AuthorError| match error.hint.clone() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    };
    let sources = Sources::open(dir).map_err(told)?;
    let built = plumbline_author::build(&sources, sandbox, &mut |line: &str| say(line)).map_err(told)?;
    let what = if built.changed { "built" } else { "built, as it was" };
    Ok(format!("{what}: {}.wasm, {}, {:.1} s", built.name, Bytes(built.size), built.seconds))
}

fn watching(error: &AuthorError) -> AppError {
    let told = AppError::system("failed to watch the project").because(error);
    match &error.hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

fn show(round: &Round, report: &RoundReport, out: &mut impl Write) -> io::Result<()> {
    let mut changed: Vec<String> = round.changed.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    if round.changed.len() > NAMED {
        changed.push(format!("{} more", round.changed.len() - NAMED));
    }
    let why = if changed.is_empty() { "as it is".to_owned() } else { changed.join(", ") };
    writeln!(out, "\nround {}: {why}", round.number)?;
    match &report.built {
        Ok(said) => writeln!(out, "{}", said.trim_end())?,
        Err(reason) => {
            let red = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
            writeln!(out, "{red}not built:{red:#} {}", reason.trim_end())?;
        }
    }
    match &report.cases {
        Some(Ok(cases)) => print(cases, out)?,
        Some(Err(error)) => {
            writeln!(out, "no case can be run: {error}")?;
            if let Some(hint) = &error.hint {
                writeln!(out, "hint: {hint}")?;
            }
        }
        None => {}
    }
    writeln!(out, "{:.1} s", report.wall.as_secs_f64())?;
    out.flush()
}
