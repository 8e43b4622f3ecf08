//! `plumbline facts`, and the roles `worker facts`, `worker node-logs` and `worker in-root`, which are
//! plugins themselves and read the machine.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::runtime::Termination;
use plumbline_app::{AppError, Explain as _};
use plumbline_archive::atomic::write_atomic;
use plumbline_core::size::parse_size;
use plumbline_facts::node_logs::{self, CollectError, Summary, WriteError, write_logs};
use plumbline_facts::{Document, Options, gather, gather_via_ansible};
use plumbline_worker::write_done;
use tokio::runtime::Runtime;

use crate::args::global::Global;
use crate::args::shared::RunFormat;
use crate::error::PrintError as _;
use crate::logging;
use crate::output::print_raw;
use crate::ui::say;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Via {
    /// Plumbline, from files of the machine
    #[default]
    Native,
    /// Ansible, as installed on the machine
    Ansible,
}

/// Options of roles that are plugins themselves. Their image has no shell to write the done file.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DoneArgs {
    /// Write to the results directory, and then the done file
    #[arg(long)]
    pub(crate) done: bool,
    /// Results directory
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = plumbline_worker::DEFAULT_RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
    /// Keep running after the results are written, so that the container of a DaemonSet does not
    /// restart
    #[arg(long)]
    pub(crate) stay: bool,
}

/// Which facts are gathered.
#[derive(Debug, clap::Args)]
pub(crate) struct FactsOptions {
    /// Directory where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Source of the facts
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: Via,
    /// Directory of additional facts in the root: `*.fact` files with JSON or INI
    #[arg(long, default_value = plumbline_facts::DEFAULT_FACTS_DIR, value_name = "DIR")]
    pub(crate) facts_dir: String,
    /// Also run executable `*.fact` files, which print JSON or INI
    #[arg(long)]
    pub(crate) run_collectors: bool,
    /// Also run the machine's kubelet, container runtime and chronyc for facts that no file has
    #[arg(long)]
    pub(crate) run_programs: bool,
}

/// `plumbline facts`
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    #[command(flatten)]
    pub(crate) options: FactsOptions,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the facts in this format
    #[arg(short = 'o', long = "output", value_enum, default_value = "json", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

/// `plumbline worker facts`, the plugin `host-facts`
#[derive(Debug, clap::Args)]
pub(crate) struct FactsRoleArgs {
    #[command(flatten)]
    pub(crate) options: FactsOptions,
    /// Write to this file instead of standard output; with `--done`, a file name in the results
    /// directory [default with `--done`: host-facts.json]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NodeLogsArgs {
    /// Directory where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// How many minutes to go back; 0 for the whole journal
    #[arg(long, env = "LOG_MINUTES", default_value_t = node_logs::DEFAULT_MINUTES, value_name = "MINUTES")]
    pub(crate) minutes: u64,
    /// Keep at most this much, the newest; the first line says how much is missing
    #[arg(long, default_value = "256MiB", value_parser = parse_size, value_name = "SIZE")]
    pub(crate) max_bytes: u64,
    /// Write to this file instead of standard output; with `--done`, a file name in the results
    /// directory [default with `--done`: systemd_logs]
    #[arg(short, long, alias = "output", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct InRootArgs {
    /// Root directory
    pub(crate) root: PathBuf,
    /// Program, found in that root
    pub(crate) program: String,
    /// Arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// Default name of the file in the results directory.
const FACTS_FILE: &str = "host-facts.json";

/// Gathers facts about this machine. Facts that cannot be read are listed in the document, and are
/// not an error.
pub(crate) fn facts(args: &FactsArgs) -> Result<ExitCode, AppError> {
    let document = document(&args.options)?;
    let Some(path) = &args.file else {
        return print_raw(PRINTING, |out| args.format.write(&document, out));
    };
    let mut text = Vec::new();
    let written = args.format.write(&document, &mut text).and_then(|()| write_atomic(path, &text));
    written.map_err(|error| unwritten(path, &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Gathers facts about this machine as a plugin, or as a program in a pod.
pub(crate) fn facts_role(args: &FactsRoleArgs) -> Result<ExitCode, AppError> {
    let ending = args.done.prepare()?;
    let document = document(&args.options)?;
    let output = args.file.as_deref().or(args.done.done.then_some(Path::new(FACTS_FILE)));
    let output = output.map(|path| args.done.place(path));
    match &output {
        Some(path) => document.write_to(path).map_err(|error| unwritten(path, &error))?,
        None => {
            print_raw(PRINTING, |out| RunFormat::Json.write(&document, out))?;
        }
    }
    // The process may stay for hours, and does not need the document.
    drop(document);
    ending.finish(output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

const PRINTING: &str = "failed to write the facts to standard output";

fn unwritten(path: &Path, error: &dyn std::error::Error) -> AppError {
    AppError::system(format!("failed to write the facts to `{}`", path.display())).because(error)
}

fn document(args: &FactsOptions) -> Result<Document, AppError> {
    let options = Options {
        facts_dir: args.facts_dir.clone(),
        run_collectors: args.run_collectors,
        run_programs: args.run_programs,
        helper: helper(),
        ..Options::new(&args.root)
    };
    match args.via {
        Via::Native => Ok(gather(&options)),
        Via::Ansible => gather_via_ansible(&options)
            .system_error("failed to gather facts with Ansible")
            .hint("remove `--via ansible` to gather the facts without Ansible"),
    }
}

/// File name that Sonobuoy's tools expect.
const LOGS_FILE: &str = "systemd_logs";

/// Gathers the logs of this machine's journal. The logs also note what is missing, so that readers
/// of the results see it.
pub(crate) fn node_logs(args: &NodeLogsArgs, global: &Global) -> Result<ExitCode, AppError> {
    logging::init(global);
    let ending = args.done.prepare()?;
    let output = args.file.as_deref().or(args.done.done.then_some(Path::new(LOGS_FILE)));
    let output = output.map(|path| args.done.place(path));
    let summary = write_logs(&log_options(args), output.as_deref()).map_err(|error| match error {
        WriteError::Print(error) => AppError::printing("failed to print the logs", &error),
        error => AppError::system("failed to gather the logs of this machine").because(&error),
    })?;
    let failed = report(&summary, args.done.done);
    if let Some(error) = &failed {
        error.print();
    }
    ending.finish(output.as_deref())?;
    // The error was already printed, because the process may stay for hours.
    Ok(if failed.is_some() { ExitCode::from(crate::error::SYSTEM) } else { ExitCode::SUCCESS })
}

fn log_options(args: &NodeLogsArgs) -> node_logs::Options {
    node_logs::Options {
        root: args.root.clone(),
        since: Duration::from_secs(args.minutes.saturating_mul(60)),
        max_bytes: args.max_bytes,
        helper: helper(),
        ..node_logs::Options::default()
    }
}

/// Prints warnings, and returns the error, if there is one. For a plugin, a machine without a
/// journal is not an error, because its result says so.
fn report(summary: &Summary, plugin: bool) -> Option<AppError> {
    for note in &summary.notes {
        say(&format!("warning: {note}"));
    }
    if summary.missing_lines > 0 {
        say(&format!(
            "warning: the oldest {} lines were dropped: raise `--max-bytes` to keep more",
            summary.missing_lines
        ));
    }
    let error = summary.failure.as_ref()?;
    if plugin && matches!(error, CollectError::NoJournal(_)) {
        say(&format!("warning: {error}"));
        return None;
    }
    Some(AppError::system("the logs of this machine are missing or incomplete").because(error))
}

/// Returns the command that starts this program as another one in another root. The caller appends
/// the root and the program. Returns `None` if the path of this program is unknown.
pub(crate) fn helper() -> Option<(PathBuf, Vec<String>)> {
    let program = std::env::current_exe().ok()?;
    Some((program, ["worker", "in-root", "--"].map(str::to_owned).to_vec()))
}

/// Replaces this process by a program in another root. Callers get the exit code of that program.
/// As with `chroot`, special codes mean that it could not be started.
pub(crate) fn in_root(args: &InRootArgs) -> ExitCode {
    let (code, error) = node_logs::enter(&args.root, &args.program, &args.args);
    let (program, root) = (&args.program, args.root.display());
    let what = match code {
        node_logs::CANNOT_ENTER => format!("failed to enter `{root}`"),
        _ => format!("failed to run `{program}` in `{root}`"),
    };
    AppError::system(what).because(&error).print();
    ExitCode::from(code)
}

impl DoneArgs {
    /// Resolves the path of `output`. With `--done`, a relative path is relative to the results
    /// directory.
    pub(crate) fn place(&self, output: &Path) -> PathBuf {
        if self.done { self.results_dir.join(output) } else { output.to_owned() }
    }

    /// Installs signal handlers before the work, so that a signal during it is not lost.
    pub(crate) fn prepare(&self) -> Result<Ending<'_>, AppError> {
        let stay = self.stay.then(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let inside = runtime.enter();
            let termination = Termination::catch()?;
            drop(inside);
            Ok((runtime, termination))
        });
        let stay = stay.transpose();
        let stay =
            stay.map_err(|error: io::Error| AppError::system("failed to keep this process running").because(&error))?;
        Ok(Ending { args: self, stay })
    }
}

/// The steps after the work.
pub(crate) struct Ending<'a> {
    args: &'a DoneArgs,
    stay: Option<(Runtime, Termination)>,
}

impl Ending<'_> {
    /// Writes the done file for `output`, and stays, each if requested.
    pub(crate) fn finish(self, output: Option<&Path>) -> Result<(), AppError> {
        if let Some(output) = output.filter(|_| self.args.done) {
            let directory = &self.args.results_dir;
            write_done(directory, output)
                .system_error(format_args!("failed to write the done file in `{}`", directory.display()))?;
        }
        if let Some((runtime, mut termination)) = self.stay {
            runtime.block_on(termination.received());
        }
        Ok(())
    }
}
