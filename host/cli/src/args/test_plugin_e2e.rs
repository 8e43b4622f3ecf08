//! `plumbline test-plugin e2e`

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use plumbline_core::duration::parse_duration;

/// Be the image of the conformance suite, as far as can be seen from outside it: the same variables, reports, log, archive and done file. What it does with the tests stands in variables
/// of its own, which begin with `FAKE_E2E_`. Called by the name `run_e2e.sh`, as by a link in an image, the program is this.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FakeE2eArgs {
    /// Where results go
    #[arg(long, env = "RESULTS_DIR", default_value = "/tmp/results", value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
    /// Which tests are run: a regular expression of Go's
    #[arg(long, env = "E2E_FOCUS", default_value = r"\[Conformance\]", value_name = "REGEX")]
    pub(crate) focus: String,
    /// Which of them are not; with `--parallel` the default is `\[Serial\]`
    #[arg(long, env = "E2E_SKIP", default_value = "", value_name = "REGEX")]
    pub(crate) skip: String,
    /// Whether tests run side by side: `y`, `Y` or `true`
    #[arg(long, env = "E2E_PARALLEL", default_value = "", value_name = "WORD")]
    pub(crate) parallel: String,
    /// With any value: only say what would be run
    #[arg(long, env = "E2E_DRYRUN", default_value = "", value_name = "WORD")]
    pub(crate) dry_run: String,
    /// Arguments for the suite; only the URL for progress reports is used
    #[arg(long, env = "E2E_EXTRA_ARGS", default_value = "", value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) extra_args: String,
    /// What stands between them
    #[arg(long, env = "E2E_EXTRA_ARGS_SEP", default_value = " ", value_name = "TEXT")]
    pub(crate) extra_args_sep: String,
    /// The version whose tests there are; without it that of the cluster, else the latest known
    #[arg(long, env = "FAKE_E2E_LIST_VERSION", value_name = "VERSION")]
    pub(crate) list_version: Option<String>,
    /// A list of tests in a file, in place of one that is known
    #[arg(long, env = "FAKE_E2E_LIST", value_name = "FILE", conflicts_with = "list_version")]
    pub(crate) list: Option<PathBuf>,
    /// The cluster's version, as a run tells its plugins
    #[arg(long, env = "SONOBUOY_K8S_VERSION", default_value = "", value_name = "VERSION")]
    pub(crate) cluster_version: String,
    /// Which tests fail
    #[arg(long, env = "FAKE_E2E_FAIL", default_value = "", value_name = "REGEX")]
    pub(crate) fail: String,
    /// Which tests fail until they are run again: by a focus with their whole, quoted names
    #[arg(long, env = "FAKE_E2E_FLAKY", default_value = "", value_name = "REGEX")]
    pub(crate) flaky: String,
    /// Break off without a report: `after:N` tests
    #[arg(long, env = "FAKE_E2E_CRASH", value_name = "WHEN")]
    pub(crate) crash: Option<Crash>,
    /// The exit code when tests failed, as the image's
    #[arg(long, env = "FAKE_E2E_EXIT", default_value_t = 1, value_name = "CODE")]
    pub(crate) exit: u8,
    /// How long a test takes; without it they take no time, and reports say that they took some
    #[arg(long, env = "FAKE_E2E_TEST_TIME", value_name = "TIME", value_parser = parse_duration)]
    pub(crate) test_time: Option<Duration>,
    /// With any value: post no progress
    #[arg(long, env = "FAKE_E2E_NO_PROGRESS", default_value = "", value_name = "WORD")]
    pub(crate) no_progress: String,
}

/// When it breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crash {
    /// After so many tests that were run.
    pub(crate) after: usize,
}

impl FromStr for Crash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix("after:").and_then(|number| number.parse().ok());
        number.map(|after| Self { after }).ok_or_else(|| "it is written as `after:10`".to_owned())
    }
}
