//! Arguments of `results` and `judge`, and how verdicts are made.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::LimitsArg;

/// Calls for `--help`.
const EXAMPLES: &str = "\
Examples:
  plumbline results run.tar.gz
  plumbline results build/junit-*.xml
  plumbline results runs/ -p e2e -o html > results.html
  plumbline results diff monday.tar.gz tuesday.tar.gz";

/// Show the results in archives and result files, or compute them again.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = EXAMPLES)]
pub(crate) struct ResultsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ResultsCommand>,
    /// An archive (`.tar.gz` or `.tar`), a directory (the content of an archive, or the newest archive in it), a result file such as
    /// `junit.xml`, or `-` for standard input; repeatable
    // There is always one, unless a subcommand is given.
    #[arg(value_name = "ARCHIVE|DIR|FILE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// The format of result files that are not in an archive, such as `junit` or `gojson`; without it, their content decides
    #[arg(long, value_name = "FORMAT")]
    pub(crate) result_format: Option<String>,
    /// Only this plugin; `sonobuoy` stands for the cluster's health
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// What is shown
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = Mode::Report)]
    pub(crate) mode: Mode,
    /// Begin at the first item of this name, at any level
    #[arg(short, long)]
    pub(crate) node: Option<String>,
    /// With `--mode detailed`: the content of files only, without the path of their items
    #[arg(short, long)]
    pub(crate) skip_prefix: bool,
    /// Print the trees as data instead
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["mode", "skip_prefix"])]
    pub(crate) format: Option<ResultsFormat>,
    /// Compute the trees again from the archive's files, with the modules of this version
    #[arg(long)]
    pub(crate) reprocess: bool,
    /// With `--reprocess` and `--plugin`: a definition in place of the archive's
    #[arg(long, value_name = "FILE", requires = "reprocess", requires = "plugin")]
    pub(crate) definition: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ResultsCommand {
    /// Compare two runs: new failures, what was fixed, what still fails, what did not run, what became slow
    Diff(DiffArgs),
}

/// Compare two runs.
#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// The earlier archive, or a directory: the content of an archive, or the newest archive in it
    #[arg(value_name = "BEFORE")]
    pub(crate) before: PathBuf,
    /// The later one
    #[arg(value_name = "AFTER")]
    pub(crate) after: PathBuf,
    /// Only this plugin; without it, all that both archives have
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// How the differences are printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DiffFormat,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

/// How differences are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Lists for a person
    Text,
    /// JSON: one object, with everything
    Json,
    /// Markdown, for a job summary or a comment
    Markdown,
}

/// What is shown of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Counts and the names of what failed
    Report,
    /// Every leaf, one JSON object per line; files as they are
    Detailed,
    /// The result tree as it stands in the archive
    Dump,
    /// The result tree, with line breaks and tabs in texts shown as such
    Readable,
    /// The same as `-o junit`
    Junit,
    /// The same as `-o markdown`
    Markdown,
    /// The same as `-o html`
    Html,
}

impl Mode {
    /// The data format that this mode is another word for.
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
    /// JSON: an array of trees
    Json,
    /// YAML: one document per tree
    Yaml,
    /// JUnit XML
    Junit,
    /// Markdown, for a job summary or a comment
    Markdown,
    /// One page of HTML that needs nothing else: failures first, slowest tests, classes of the verdict
    Html,
}

/// Whose signatures count.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct PolicyArg {
    // The variable is read by hand: it is no reason to refuse another option that excludes this one.
    /// Whose signatures count for what (docs/signing.md); without it, the file that `PLUMBLINE_POLICY` names, then
    /// `$XDG_CONFIG_HOME/plumbline/policy.yaml`
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// Under which heading these options stand.
const HEADING: &str = "From results to a verdict";

/// What becomes of failures.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct JudgeArgs {
    /// A list of failures that are known and do not count, in YAML or JSON (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) known_failures: Vec<PathBuf>,
    /// A list of tests that are flaky: their failures do not count; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) flaky: Vec<PathBuf>,
    /// A list of tests that may be skipped; other tests must not, and those that are skipped count as failures; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) allowed_skips: Vec<PathBuf>,
    /// Which tests must not be skipped, unless they are in such a list: a regular expression, such as `\[Conformance\]`
    #[arg(long, value_name = "REGEX")]
    pub(crate) required_tests: Option<String>,
    /// An archive of an earlier run: what failed in it, too, does not count
    #[arg(long, value_name = "ARCHIVE")]
    pub(crate) baseline: Option<PathBuf>,
    /// A file of checks: requirements on results, health and logs (docs/judges.md); repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) checks: Vec<PathBuf>,
    /// The plugin that is judged; without it, `e2e` if it is there, else the only one
    #[arg(long, value_name = "NAME")]
    pub(crate) judge_plugin: Option<String>,
}

impl JudgeArgs {
    /// The first option that was given, as it is written.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (!self.known_failures.is_empty(), "--known-failures"),
            (!self.flaky.is_empty(), "--flaky"),
            (!self.allowed_skips.is_empty(), "--allowed-skips"),
            (self.required_tests.is_some(), "--required-tests"),
            (self.baseline.is_some(), "--baseline"),
            (!self.checks.is_empty(), "--checks"),
            (self.judge_plugin.is_some(), "--judge-plugin"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }
}
