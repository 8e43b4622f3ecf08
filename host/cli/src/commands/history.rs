//! `plumbline history`

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use plumbline_app::history::{
    History, Retention, Selection, history_html, history_text, known_failures, known_failures_list,
};
use plumbline_app::judges::DEFAULT_BASELINE_RUNS;
use plumbline_app::modules::LimitsFile;
use plumbline_app::report::print_json;
use plumbline_app::report::text::size;
use plumbline_app::{AppError, Context};

use crate::args::global::Global;
use crate::args::shared::{RegistryArgs, context};
use crate::error::{INCOMPLETE, PrintError as _};
use crate::output::print_as;
use crate::ui::say;

const CODES: &str = "\
Exit codes:
  0  every archive was read, whatever the outcome of tests
  2  the command line is invalid, or no run can be read
  3  an archive, or a plugin of one, cannot be read";

#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct HistoryArgs {
    /// A directory with archives of runs, an archive, a bucket `s3://BUCKET/PREFIX`, or a repository
    /// `oci://HOST/NAME`; repeatable
    #[arg(value_name = "DIR|ARCHIVE|URL", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Print the history in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: HistoryFormat,
    /// Print a list of known failures, which are tests that failed in their last runs, in the format
    /// of docs/judges.md
    #[arg(long, conflicts_with = "format")]
    pub(crate) propose_known_failures: bool,
    /// With `--propose-known-failures`: how many runs in a row a test must have failed, up to now
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BASELINE_RUNS, value_parser = clap::value_parser!(u64).range(1..), requires = "propose_known_failures")]
    pub(crate) failed_runs: u64,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryFormat {
    /// Clusters, and the failing, flaky and slower tests
    Text,
    /// JSON: one object with all runs and tests
    Json,
    /// One HTML page that works offline, with sparklines
    Html,
}

/// Shows the history of tests over many runs. Failed tests do not change the exit code, because
/// they belong to runs that had their verdicts. Unreadable archives do.
pub(crate) fn history(args: &HistoryArgs, global: &Global) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let history = History::open(&context, &args.sources, &args.limits.load()?)?;
    history.problems().iter().for_each(|problem| {
        problem.print();
    });
    let report = history.report(&args.selection)?;
    let every = args.selection.test.is_some();
    // A list of known failures is data, whose names stay as they are.
    let is_text = args.format == HistoryFormat::Text && !args.propose_known_failures;
    print_as(is_text, "failed to print the history", |out| {
        if args.propose_known_failures {
            let tests = known_failures(&report, args.failed_runs);
            let source = format!("history of {} runs", report.runs.len());
            return out.write_all(known_failures_list(&tests, &source).as_bytes());
        }
        match args.format {
            HistoryFormat::Text => history_text(&report, every, out),
            HistoryFormat::Json => print_json(&report, out),
            HistoryFormat::Html => history_html(&report, every, out),
        }
    })?;
    Ok(match history.problems().is_empty() {
        true => ExitCode::SUCCESS,
        false => global.code(ExitCode::from(INCOMPLETE)),
    })
}

/// Removes archives that exceed the limits of the history, and reports each. The run has its
/// verdict, which an error here does not change.
pub(crate) fn prune(context: &Context, retention: &Retention, written: &Path) {
    match retention.apply(context, written) {
        Err(error) => {
            error.print();
        }
        Ok(removals) => {
            for removal in removals {
                match removal.result {
                    Ok(()) => say(&format!("removed {} ({})", removal.path.display(), size(removal.bytes))),
                    Err(error) => {
                        error.print();
                    }
                }
            }
        }
    }
}
