//! `plumbline plugin dev`

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use plumbline_aggregator::Modules;
use plumbline_app::AppError;
use plumbline_app::modules::{self, LimitsFile};
use plumbline_app::runtime::one_thread;
use plumbline_author::AuthorError;
use plumbline_author::golden::Project;
use plumbline_author::project::{MANIFEST_FILE, Project as Sources};
use plumbline_author::watch::{Built, QUIET, Round, RoundReport, Watch, try_out};
use plumbline_core::size::Bytes;
use plumbline_sandbox::Sandbox;

use crate::commands::plugin::test::{print_report, refused};
use crate::output::print;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// Directory of the plugin: `plugin.yaml`, `module.yaml`, sources, and cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Let a check read objects of the cluster of the current kubeconfig
    #[arg(long)]
    pub(crate) cluster: bool,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
}

const CHECK_TIME: &str = "60s";

/// Maximum changed paths printed per round.
const NAMED: usize = 3;

/// Builds and tests the project after every change, until it is interrupted.
pub(crate) fn dev(args: &DevArgs) -> Result<ExitCode, AppError> {
    // An invalid project directory is reported at once.
    let project = Project::open(&args.dir).map_err(|error| refused(&error))?;
    let limits = args.limits.load()?;
    let (sandbox, built_in) = modules::sandbox(&limits)?;
    let (watch, _stopper) = Watch::new(&project.dir, QUIET).map_err(|error| watching(&error))?;
    say(&format!("watching {}; press Ctrl-C to stop", project.dir.display()));
    let (dir, cluster) = (project.dir.clone(), args.cluster);
    // The loop blocks, and this process may end meanwhile, so it has its own thread.
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let watched = watch.run(|round| {
            let modules = Modules::new(sandbox.clone(), built_in.clone());
            let report = try_out(&dir, &mut |dir| build(dir, &sandbox), &modules, &limits.modules);
            // Write errors are ignored, because the next round prints the report again.
            let _ = print("failed to print the round", |out| show(round, &report, out));
            if report.built.is_ok() {
                try_check(&dir, cluster);
            }
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
        return Ok(format!("nothing to build: `{MANIFEST_FILE}` not found"));
    }
    let message = |error: AuthorError| match error.hint.clone() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    };
    let sources = Sources::open(dir).map_err(message)?;
    let built = plumbline_author::build(&sources, sandbox, &mut |line: &str| say(line)).map_err(message)?;
    let what = if built.changed { "built" } else { "built, unchanged" };
    Ok(format!("{what}: {}.wasm, {}, {:.1} s", built.name, Bytes(built.size), built.seconds))
}

fn watching(error: &AuthorError) -> AppError {
    AppError::system("failed to watch the project").because(error).hint_if(error.hint.as_deref())
}

fn show(round: &Round, report: &RoundReport, out: &mut impl Write) -> io::Result<()> {
    let mut changed: Vec<String> = round.changed.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    if round.changed.len() > NAMED {
        changed.push(format!("{} more", round.changed.len() - NAMED));
    }
    let why = if changed.is_empty() { "initial build".to_owned() } else { changed.join(", ") };
    writeln!(out, "\nround {}: {why}", round.number)?;
    match &report.built {
        Ok(said) => writeln!(out, "{}", said.trim_end())?,
        Err(reason) => {
            let red = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
            writeln!(out, "{red}not built:{red:#} {}", reason.trim_end())?;
        }
    }
    match &report.cases {
        Some(Ok(cases)) => print_report(cases, out)?,
        Some(Err(error)) => {
            writeln!(out, "failed to run the cases: {error}")?;
            if let Some(hint) = &error.hint {
                writeln!(out, "hint: {hint}")?;
            }
        }
        None => {}
    }
    writeln!(out, "{:.1} s", report.wall.as_secs_f64())?;
    out.flush()
}

/// Runs the check of the plugin on this machine, if it has one. The check gets a process of its own,
/// because a read that waits cannot be interrupted.
fn try_check(dir: &Path, cluster: bool) {
    // The report of the round has the error of a project that cannot be read.
    let Ok(project) = Project::open(dir) else { return };
    let section = &project.source.definition.plumbline;
    if section.component.is_none() {
        return;
    }
    if !section.grants.kubernetes.is_empty() && !cluster {
        return say("skipped the check, because it reads objects of a cluster: add `--cluster` to run it");
    }
    let mut command = Command::new(env::current_exe().unwrap_or_else(|_| "plumbline".into()));
    command.args(["plugin", "run", "--timeout", CHECK_TIME]).arg(dir).stdin(Stdio::null());
    if cluster {
        command.arg("--cluster");
    }
    match command.status() {
        Ok(status) => say(&format!("the check exited with {status}")),
        Err(error) => say(&format!("failed to start the check: {error}")),
    }
}
