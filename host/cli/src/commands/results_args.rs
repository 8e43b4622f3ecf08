//! The options of `plumbline results` and its commands.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_app::judges::JudgeOptions;
use plumbline_app::modules::LimitsFile;
use plumbline_app::results::TextMode;
use plumbline_core::size::parse_size;

use crate::args::shared::EXIT_CODES;
use crate::commands::results_attest::{AttestArgs, PullArgs, PushArgs, VerifyArgs};

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
