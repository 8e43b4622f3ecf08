//! `plumbline results`, and its commands.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use plumbline_app::AppError;
use plumbline_app::difference::{diff_html, diff_markdown, diff_text, matrix_markdown, matrix_text};
use plumbline_app::judges::JudgeOptions;
use plumbline_app::modules::LimitsFile;
use plumbline_app::report::{Format, print_json};
use plumbline_app::results::{
    Collected, Comparison, DataFormat, Documents, HEALTH, Html, Rendered, ResultsOptions, ShownResults, TextMode,
    TextView, View, compare, printed, show,
};
use plumbline_core::size::parse_size;
use plumbline_core::{Verdict, shell_path};

use crate::args::global::Global;
use crate::args::shared::{EXIT_CODES, RegistryArgs, context};
use crate::commands::results_attest::{self, AttestArgs, PullArgs, PushArgs, VerifyArgs};
use crate::error::{FAILED, verdict_code};
use crate::output::{Foreign, print_as};
use crate::ui::say;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXIT_CODES)]
pub(crate) struct ResultsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ResultsCommand>,
    /// An archive (`.tar.gz` or `.tar`), an unpacked archive, a directory with archives (the newest),
    /// a result file such as `junit.xml`, or `-` for standard input; repeatable
    // There is always one, unless a subcommand is given.
    #[arg(value_name = "ARCHIVE|DIR|FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Format of result files that are not in an archive, such as `junit` or `gojson` [default:
    /// detected]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) result_format: Option<String>,
    /// Show only this plugin; `sonobuoy` is the health of the cluster
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// What to show
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = Mode::Report)]
    pub(crate) mode: Mode,
    /// Show only the subtree of the first item with this name
    #[arg(short, long)]
    pub(crate) node: Option<String>,
    /// With `--mode detailed`: print only the contents of files, without the paths of their items
    #[arg(short, long)]
    pub(crate) skip_prefix: bool,
    /// Print the result trees in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["mode", "skip_prefix"])]
    pub(crate) format: Option<ResultsFormat>,
    /// With `--output markdown`: print at most this much, in whole lines. A job summary of GitHub can
    /// have at most `1MiB`
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_bytes: Option<u64>,
    /// With `--output html` or `--output markdown`: show which tests became much slower or faster since
    /// this earlier run, an archive or any other input
    #[arg(long, value_name = "ARCHIVE|DIR|FILE", conflicts_with = "node")]
    pub(crate) previous: Option<PathBuf>,
    /// With `--output allure`: write the results to this directory, which must be new or empty
    #[arg(short, long, value_name = "DIR", required_if_eq("format", "allure"))]
    pub(crate) dir: Option<PathBuf>,
    /// With `--output openreports`: write reports for this namespace instead of the cluster
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Post-process the files of the archive again, with the modules of this version of Plumbline
    #[arg(long)]
    pub(crate) reprocess: bool,
    /// With `--reprocess` and `--plugin`: use this definition instead of the one in the archive
    #[arg(long, value_name = "FILE", requires = "reprocess", requires = "plugin")]
    pub(crate) definition: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
    #[command(flatten)]
    pub(crate) judge: JudgeOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    /// Compare runs: new, fixed and remaining failures, tests that did not run, tests that became
    /// slow
    Diff(DiffArgs),
    /// Sign a statement about the results in an archive, with the verdict and the names of tests
    Attest(AttestArgs),
    /// Verify that someone trusted has signed the results in an archive
    Verify(VerifyArgs),
    /// Push an archive with its attestations to a registry
    Push(PushArgs),
    /// Pull an archive with its attestations from a registry
    Pull(PullArgs),
}

const DIFF_CODES: &str = "\
Exit codes:
  0  no new failures in the last run, compared with the run before it
  1  new failures
  2  the archives cannot be compared
  3  no new failures, but the last run has unknown items
  5  a plugin ran tests in the run before, and none in the last run";

#[derive(Debug, clap::Args)]
#[command(after_help = DIFF_CODES)]
pub(crate) struct DiffArgs {
    /// The earlier archive, an unpacked archive, or a directory that contains archives (the newest)
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The later archive; several archives become columns of a table
    #[arg(value_name = "AFTER", required = true)]
    pub(crate) after: Vec<PathBuf>,
    /// Compare only this plugin [default: every plugin]
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// Print the differences in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DiffFormat,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Lists for people
    Text,
    /// JSON: one object with everything
    Json,
    /// Markdown for a job summary or a comment
    Markdown,
    /// One HTML page that works offline
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Counts, and the names of failures
    Report,
    /// Every leaf as one JSON object per line; files unchanged
    Detailed,
    /// The result tree as the archive has it
    Dump,
    /// The result tree, with line breaks and tabs in place of their escape sequences
    Readable,
    /// The same as `-o junit`
    Junit,
    /// The same as `-o markdown`
    Markdown,
    /// The same as `-o html`
    Html,
}

impl ResultsArgs {
    /// What to print: a data format, or text. Three modes are the same as formats.
    pub(crate) fn output(&self) -> Result<ResultsFormat, TextMode> {
        match (self.format, self.mode) {
            (Some(format), _) => Ok(format),
            (None, Mode::Junit) => Ok(ResultsFormat::Junit),
            (None, Mode::Markdown) => Ok(ResultsFormat::Markdown),
            (None, Mode::Html) => Ok(ResultsFormat::Html),
            (None, Mode::Report) => Err(TextMode::Report),
            (None, Mode::Detailed) => Err(TextMode::Detailed { skip_prefix: self.skip_prefix }),
            (None, Mode::Dump) => Err(TextMode::Dump),
            (None, Mode::Readable) => Err(TextMode::Readable),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsFormat {
    /// JSON: an array of result trees
    Json,
    /// YAML: one document per result tree
    Yaml,
    /// JUnit XML
    Junit,
    /// Markdown for a job summary or a comment
    Markdown,
    /// One HTML page that works offline: failures by cause, a table to search, nodes, a timeline
    Html,
    /// Common Test Report Format (JSON)
    Ctrf,
    /// Result files for Allure, in the directory `--dir`
    Allure,
    /// Annotations of GitHub Actions, at most 10 of each level
    Github,
    /// SARIF 2.1.0, for checks that point at files
    Sarif,
    /// Resources of OpenReports, for `kubectl apply -f -`
    Openreports,
}

pub(crate) fn results(args: &ResultsArgs, global: &Global) -> Result<ExitCode, AppError> {
    match &args.command {
        None => {}
        Some(ResultsCommand::Diff(args)) => return diff(args, global),
        Some(ResultsCommand::Attest(args)) => return results_attest::attest(args),
        Some(ResultsCommand::Verify(args)) => return results_attest::verify(args, global),
        Some(ResultsCommand::Push(args)) => return results_attest::push(args),
        Some(ResultsCommand::Pull(args)) => return results_attest::pull(args),
    }
    let mut out = BufWriter::new(Foreign::stdout(args.output().is_err()));
    let mut seen = ShownResults::default();
    match print(args, &mut seen, &mut out) {
        Ok(()) => printed(out.flush())?,
        // The incomplete document is discarded.
        Err(error) => {
            let _ = out.into_parts();
            return Err(error);
        }
    }
    Ok(global.code(match args.plugin.as_deref() {
        Some(HEALTH) if !seen.is_incomplete() => ExitCode::SUCCESS,
        _ => verdict_code(seen.verdict()),
    }))
}

fn check_formats(args: &ResultsArgs, format: Option<ResultsFormat>) -> Result<(), AppError> {
    for (option, is_given, of, name) in [
        ("--max-bytes", args.max_bytes.is_some(), ResultsFormat::Markdown, "markdown"),
        ("--dir", args.dir.is_some(), ResultsFormat::Allure, "allure"),
        ("--namespace", args.namespace.is_some(), ResultsFormat::Openreports, "openreports"),
    ] {
        if is_given && format != Some(of) {
            return Err(
                AppError::usage(format!("`{option}` needs the format `{name}`")).hint(format!("add `--output {name}`"))
            );
        }
    }
    if args.skip_prefix && args.mode != Mode::Detailed {
        return Err(AppError::usage("`--skip-prefix` needs the mode `detailed`").hint("add `--mode detailed`"));
    }
    if args.previous.is_none() {
        return Ok(());
    }
    if !matches!(format, Some(ResultsFormat::Html | ResultsFormat::Markdown)) {
        return Err(AppError::usage("`--previous` needs the format `html` or `markdown`")
            .hint("add `--output html`, or compare the runs with `plumbline results diff`"));
    }
    if args.inputs.len() > 1 {
        return Err(AppError::usage("`--previous` compares one run, but there are several inputs")
            .hint("pass one input, or follow tests over many runs with `plumbline history`"));
    }
    Ok(())
}

fn print(args: &ResultsArgs, seen: &mut ShownResults, out: &mut impl Write) -> Result<(), AppError> {
    check_formats(args, args.output().ok())?;
    let (context, options) = (context(&RegistryArgs::default()), options(args));
    let mut each = |view: &mut dyn View| -> Result<Verdict, AppError> {
        show(&context, &options, seen, view)?;
        Ok(seen.verdict())
    };
    let format = match args.output() {
        Err(mode) => return each(&mut TextView::new(&options, mode, out)).map(drop),
        Ok(ResultsFormat::Json) => return Documents::print(DataFormat::Json, out, each),
        Ok(ResultsFormat::Yaml) => return Documents::print(DataFormat::Yaml, out, each),
        Ok(ResultsFormat::Markdown) => {
            let mut collected = Collected::default();
            let verdict = each(&mut collected)?;
            return printed(collected.markdown(verdict, args.max_bytes, out));
        }
        Ok(ResultsFormat::Html) => {
            let mut page = Html::new()?;
            let verdict = each(&mut page)?;
            return printed(page.finish(verdict, out));
        }
        Ok(ResultsFormat::Junit) => Format::Junit,
        Ok(ResultsFormat::Ctrf) => Format::Ctrf,
        Ok(ResultsFormat::Allure) => Format::Allure(args.dir.clone().unwrap_or_default()),
        Ok(ResultsFormat::Github) => Format::Github,
        Ok(ResultsFormat::Sarif) => Format::Sarif,
        Ok(ResultsFormat::Openreports) => Format::Openreports(args.namespace.clone()),
    };
    Rendered::print(&format, out, each)
}

fn options(args: &ResultsArgs) -> ResultsOptions {
    ResultsOptions {
        inputs: args.inputs.clone(),
        plugin: args.plugin.clone(),
        node: args.node.clone(),
        reprocess: args.reprocess,
        definition: args.definition.clone(),
        result_format: args.result_format.clone(),
        limits: args.limits.clone(),
        judges: args.judge.clone(),
        previous: args.previous.clone(),
    }
}

/// Compares runs. Exits with 1 if a test fails in the last one and not in the one before, with 5 if
/// no test of a plugin ran there, with 3 if it has unknown items, and otherwise with 0.
pub(super) fn diff(args: &DiffArgs, global: &Global) -> Result<ExitCode, AppError> {
    let paths: Vec<_> = std::iter::once(&args.before).chain(&args.after).cloned().collect();
    let context = context(&RegistryArgs::default());
    let Comparison { difference: found, matrix, silent } =
        compare(&context, &paths, args.plugin.as_ref(), &args.limits)?;
    print_as(args.format == DiffFormat::Text, "failed to print the differences", |out| match (args.format, &matrix) {
        (DiffFormat::Text, None) => diff_text(&found, out),
        (DiffFormat::Text, Some(matrix)) => matrix_text(matrix, out),
        (DiffFormat::Json, None) => print_json(&found, out),
        (DiffFormat::Json, Some(matrix)) => print_json(matrix, out),
        (DiffFormat::Markdown, None) => diff_markdown(&found, out),
        (DiffFormat::Markdown, Some(matrix)) => matrix_markdown(matrix, out),
        (DiffFormat::Html, matrix) => diff_html(&found, matrix.as_ref(), out),
    })?;
    // Without a test that ran, there is no new failure, and nothing passed either.
    let last = args.after.last().unwrap_or(&args.before);
    for plugin in &silent {
        say(&format!(
            "warning: no test of plugin `{plugin}` is known to have run in `{}`: see the results with `plumbline results {}`",
            last.display(),
            shell_path(last)
        ));
    }
    Ok(global.code(match (found.new_failures.is_empty(), silent.is_empty()) {
        (false, _) => ExitCode::from(FAILED),
        (true, false) => verdict_code(Verdict::NothingToJudge),
        (true, true) if found.unknown_after > 0 => verdict_code(Verdict::Incomplete),
        (true, true) => ExitCode::SUCCESS,
    }))
}
