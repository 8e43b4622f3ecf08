//! `plumbline worker facts`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use plumbline_facts::{Document, Options, enter_root, gather, gather_via_ansible, write_done_file};
use plumbline_worker::{DEFAULT_RESULTS_DIR, DONE_FILE};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::{EnterRootArgs, FactsArgs, Via};
use crate::error::CliError;

/// The result's name in the results directory, where no other is given.
const RESULT: &str = "host-facts.json";
/// The variable that names the results directory of a plugin.
const RESULTS_DIR: &str = "SONOBUOY_RESULTS_DIR";

/// Gathers facts of this machine and prints them as JSON. What cannot be read is listed among them: gathering itself does not fail.
pub(crate) fn facts(args: &FactsArgs) -> Result<ExitCode, CliError> {
    let stay = args.sleep.filter(|seconds| *seconds != 0).map(Stay::prepare).transpose()?;
    let document = document(args)?;
    let results = args.done.then(results_dir);
    let output = args.output.clone().or_else(|| results.as_deref().map(|directory| directory.join(RESULT)));
    match &output {
        Some(path) => document.write_to(path).map_err(|error| {
            CliError::system(format!("the facts cannot be written into `{}`", path.display())).because(&error)
        })?,
        None => std::io::stdout()
            .write_all(document.to_json().as_bytes())
            .map_err(|error| CliError::printing("the facts cannot be written on standard output".to_owned(), &error))?,
    }
    if let (Some(results), Some(output)) = (results, output) {
        finish(&results, &output)?;
    }
    if let Some(stay) = stay {
        drop(document);
        stay.wait();
    }
    Ok(ExitCode::SUCCESS)
}

fn document(args: &FactsArgs) -> Result<Document, CliError> {
    let options = Options {
        facts_dir: args.facts_dir.clone(),
        run_collectors: args.run_collectors,
        run_programs: args.run_programs,
        enter: std::env::current_exe().ok(),
        ..Options::new(&args.root)
    };
    match args.via {
        Via::Native => Ok(gather(&options)),
        Via::Ansible => gather_via_ansible(&options).map_err(|error| {
            CliError::system("Ansible gave no facts")
                .because(&error)
                .hint("leave out `--via ansible`: the facts are then gathered without Ansible")
        }),
    }
}

fn results_dir() -> PathBuf {
    std::env::var_os(RESULTS_DIR).filter(|named| !named.is_empty()).unwrap_or_else(|| DEFAULT_RESULTS_DIR.into()).into()
}

/// Writes the done file, which a plugin in an image without a shell cannot.
fn finish(results: &Path, output: &Path) -> Result<(), CliError> {
    let output = std::path::absolute(output)
        .map_err(|error| CliError::system(format!("where `{}` is cannot be told", output.display())).because(&error))?;
    let done = results.join(DONE_FILE);
    write_done_file(&done, &output).map_err(|error| {
        CliError::system(format!("the done file `{}` cannot be written", done.display())).because(&error)
    })
}

/// Staying after the work, so that a pod is not restarted. A signal ends it, also where this is the first process of a container, whose
/// signals do nothing unless somebody waits for them.
struct Stay {
    runtime: Runtime,
    terminate: Signal,
    interrupt: Signal,
    /// `None`: for ever.
    time: Option<Duration>,
}

impl Stay {
    /// Before the work: a signal that comes during it is not lost.
    fn prepare(seconds: i64) -> Result<Self, CliError> {
        let fail = |error: std::io::Error| CliError::system("signals cannot be waited for").because(&error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let inside = runtime.enter();
        let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
        drop(inside);
        let time = u64::try_from(seconds).ok().map(Duration::from_secs);
        Ok(Self { runtime, terminate: terminate.map_err(fail)?, interrupt: interrupt.map_err(fail)?, time })
    }

    fn wait(mut self) {
        self.runtime.block_on(async {
            let time = async {
                match self.time {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                () = time => {}
            }
        });
    }
}

/// Enters a root and becomes a program there; what `facts` calls for a program below a foreign root.
pub(crate) fn enter(args: &EnterRootArgs) -> CliError {
    let error = enter_root(&args.root, &args.program, &args.arguments);
    CliError::system(format!("`{}` cannot be run below `{}`", args.program.display(), args.root.display()))
        .because(&error)
}
