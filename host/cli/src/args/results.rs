//! Arguments of `results` and `judge`, and how verdicts are made.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_app::judges::JudgeOptions;

use super::LimitsArg;

/// Show the results in archives and result files, or post-process them again.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ResultsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ResultsCommand>,
    /// An archive (`.tar.gz` or `.tar`), a directory (an unpacked archive, or one that contains
    /// archives: the newest), a result file such as `junit.xml`, or `-` for standard input;
    /// repeatable
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
    /// Start at the first item of this name, at any level
    #[arg(short, long)]
    pub(crate) node: Option<String>,
    /// With `--mode detailed`: print only the contents of files, without the paths of their items
    #[arg(short, long)]
    pub(crate) skip_prefix: bool,
    /// Print the result trees in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["mode", "skip_prefix"])]
    pub(crate) format: Option<ResultsFormat>,
    /// Post-process the files of the archive again, with the modules of this version of Plumbline
    #[arg(long)]
    pub(crate) reprocess: bool,
    /// With `--reprocess` and `--plugin`: use this definition instead of the one in the archive
    #[arg(long, value_name = "FILE", requires = "reprocess", requires = "plugin")]
    pub(crate) definition: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    /// Compare two runs: new, fixed and remaining failures, tests that did not run, tests that
    /// became slow
    Diff(DiffArgs),
}

/// Compare two runs.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The earlier archive, an unpacked archive, or a directory that contains archives (the newest)
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The later archive
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Compare only this plugin [default: every plugin that both archives have]
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// Print the differences in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DiffFormat,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

/// Formats of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Lists for people
    Text,
    /// JSON: one object with everything
    Json,
    /// Markdown for a job summary or a comment
    Markdown,
}

/// What `results` shows of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Counts, and the names of failures
    Report,
    /// Every leaf as one JSON object per line; files unchanged
    Detailed,
    /// The result tree as the archive has it
    Dump,
    /// The result tree, with escaped line breaks and tabs shown as such
    Readable,
    /// The same as `-o junit`
    Junit,
    /// The same as `-o markdown`
    Markdown,
    /// The same as `-o html`
    Html,
}

impl Mode {
    /// The data format with the same meaning as this mode.
    pub(crate) fn format(self) -> Option<ResultsFormat> {
        match self {
            Self::Junit => Some(ResultsFormat::Junit),
            Self::Markdown => Some(ResultsFormat::Markdown),
            Self::Html => Some(ResultsFormat::Html),
            Self::Report | Self::Detailed | Self::Dump | Self::Readable => None,
        }
    }
}

/// Data formats.
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
    /// One HTML page that works offline: failures first, slowest tests, classes of the verdict
    Html,
}

/// The signature policy.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PolicyArg {
    // The variable is read by hand: it is no reason to refuse another option that excludes this one.
    /// Signature policy: whose signatures count for which names (docs/signing.md) [default:
    /// $PLUMBLINE_POLICY, then $XDG_CONFIG_HOME/plumbline/policy.yaml]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// Heading of these options in `--help`.
const HEADING: &str = "Judging options";

/// How failures are judged.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct JudgeArgs {
    /// List of known failures that do not count, in YAML or JSON (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) known_failures: Vec<PathBuf>,
    /// List of flaky tests whose failures do not count; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) flaky: Vec<PathBuf>,
    /// List of tests that may be skipped; every other skipped test counts as a failure; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) allowed_skips: Vec<PathBuf>,
    /// Regular expression for tests that must not be skipped unless a list allows it, such as
    /// `\[Conformance\]`
    #[arg(long, value_name = "REGEX")]
    pub(crate) required_tests: Option<String>,
    /// Archive of an earlier run: failures that it has too do not count
    #[arg(long, value_name = "ARCHIVE")]
    pub(crate) baseline: Option<PathBuf>,
    /// File of checks: requirements on results, health and logs (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) checks: Vec<PathBuf>,
    /// The plugin to judge [default: `e2e` if there is one, otherwise the only plugin]
    #[arg(long, value_name = "NAME")]
    pub(crate) judge_plugin: Option<String>,
}

impl From<&JudgeArgs> for JudgeOptions {
    fn from(args: &JudgeArgs) -> Self {
        let args = args.clone();
        Self {
            known_failures: args.known_failures,
            flaky: args.flaky,
            allowed_skips: args.allowed_skips,
            required_tests: args.required_tests,
            baseline: args.baseline,
            checks: args.checks,
            plugin: args.judge_plugin,
        }
    }
}
