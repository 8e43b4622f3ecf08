//! What becomes of failures: options of `run`, `gen`, `conformance run` and `results`.

use std::path::PathBuf;

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
