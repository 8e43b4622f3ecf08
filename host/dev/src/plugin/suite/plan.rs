//! What the simulated suite does: its options, and the outcome of every test.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_bundle::built_in::profiles;
use plumbline_conformance::lists::{
    Embedded, GoRegex, Selection, TestList, alternatives, is_suite_node, plain_name, read_file,
};
use plumbline_core::duration::parse_duration;
use plumbline_core::go_quote;
use plumbline_dev::Result;

use crate::plugin::common::say;

/// The name of the suite, before the names of its tests.
pub(super) const SUITE: &str = "Kubernetes e2e suite";

/// Simulate the image of the conformance suite: the same variables, reports, log, archive and done
/// file. Variables of its own, `FAKE_E2E_…`, set the outcome of the tests. Under the name
/// `run_e2e.sh`, as with a link in an image, the program runs this command.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SuiteOptions {
    /// Directory for the results
    #[arg(long, env = "RESULTS_DIR", default_value = "/tmp/results", value_name = "DIR")]
    pub(super) results_dir: PathBuf,
    /// Tests to run, as a Go regular expression
    #[arg(long, env = "E2E_FOCUS", default_value = FOCUS, value_name = "REGEX")]
    focus: String,
    /// Tests to skip [default with `--parallel`: `\[Serial\]`]
    #[arg(long, env = "E2E_SKIP", default_value = "", value_name = "REGEX")]
    skip: String,
    /// Whether tests run in parallel: `y`, `Y` or `true`
    #[arg(long, env = "E2E_PARALLEL", default_value = "", value_name = "WORD")]
    parallel: String,
    /// With any value: only report which tests would run
    #[arg(long, env = "E2E_DRYRUN", default_value = "", value_name = "WORD")]
    dry_run: String,
    /// Arguments of the suite; only the URL for progress is used
    #[arg(long, env = "E2E_EXTRA_ARGS", default_value = "", value_name = "ARGS", allow_hyphen_values = true)]
    extra_args: String,
    /// Separator of these arguments
    #[arg(long, env = "E2E_EXTRA_ARGS_SEP", default_value = " ", value_name = "TEXT")]
    extra_args_sep: String,
    /// Version whose tests exist [default: that of the cluster, else the latest known]
    #[arg(long, env = "FAKE_E2E_LIST_VERSION", value_name = "VERSION")]
    list_version: Option<String>,
    /// File with a list of tests, instead of the tests of a version
    #[arg(long, env = "FAKE_E2E_LIST", value_name = "FILE", conflicts_with = "list_version")]
    list: Option<PathBuf>,
    /// Version of the cluster, as a run passes it to its plugins
    #[arg(long, env = "SONOBUOY_K8S_VERSION", default_value = "", value_name = "VERSION")]
    cluster_version: String,
    /// Tests that fail
    #[arg(long, env = "FAKE_E2E_FAIL", default_value = "", value_name = "REGEX")]
    fail: String,
    /// Reason of failed tests
    #[arg(long, env = "FAKE_E2E_REASON", default_value = REASON, value_name = "TEXT")]
    pub(super) reason: String,
    /// Tests that fail unless the focus has their whole, quoted names
    #[arg(long, env = "FAKE_E2E_FLAKY", default_value = "", value_name = "REGEX")]
    flaky: String,
    /// Exit without a report: `after:N` tests
    #[arg(long = "crash", env = "FAKE_E2E_CRASH", value_name = "WHEN", value_parser = crash_after)]
    pub(super) crash_after: Option<usize>,
    /// Exit code if tests failed
    #[arg(long, env = "FAKE_E2E_EXIT", default_value_t = 1, value_name = "CODE")]
    pub(super) exit: u8,
    /// How long a test takes [default: no time; reports state a time for each]
    #[arg(long, env = "FAKE_E2E_TEST_TIME", value_name = "TIME", value_parser = parse_duration)]
    pub(super) test_time: Option<Duration>,
    /// With any value: post no progress
    #[arg(long, env = "FAKE_E2E_NO_PROGRESS", default_value = "", value_name = "WORD")]
    no_progress: String,
}

fn crash_after(text: &str) -> std::result::Result<usize, String> {
    let number = text.strip_prefix("after:").and_then(|number| number.parse().ok());
    number.ok_or_else(|| "expected a number of tests, such as `after:10`".to_owned())
}

const REASON: &str = "test-plugin is configured to fail this test";
const FOCUS: &str = r"\[Conformance\]";
/// The default skip of parallel runs.
const SERIAL: &str = r"\[Serial\]";
const PROGRESS_URL: &str = "--progress-report-url=";

pub(super) struct Settings {
    pub(super) list: TestList,
    pub(super) focus: String,
    pub(super) skip: String,
    pub(super) selection: Selection,
    pub(super) fail: Option<GoRegex>,
    /// The tests that fail until they run again.
    pub(super) flaky: Option<GoRegex>,
    pub(super) reason: String,
    pub(super) parallel: bool,
    pub(super) dry_run: bool,
    pub(super) progress_url: Option<String>,
}

impl Settings {
    /// Parses the options. Like the image, treats an empty variable as not set.
    pub(super) fn of(options: &SuiteOptions) -> Result<Self> {
        let or = |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
        let parallel = matches!(options.parallel.as_str(), "y" | "Y" | "true");
        let skip = or(&options.skip, if parallel { SERIAL } else { "" });
        let focus = or(&options.focus, FOCUS);
        let selection = Selection::parse(Some(&focus), Some(&skip))
            .map_err(|(what, error)| format!("the {what} is not a Go regular expression: {error}"))?;
        let expression = |variable: &str, text: &str| -> Result<Option<GoRegex>> {
            let compiled = (!text.is_empty()).then(|| GoRegex::new(text)).transpose();
            Ok(compiled.map_err(|error| format!("`{variable}` is not a Go regular expression: {error}"))?)
        };
        let separator = or(&options.extra_args_sep, " ");
        let url = options.extra_args.split(&separator).find_map(|arg| arg.trim().strip_prefix(PROGRESS_URL));
        Ok(Self {
            list: list(options)?,
            selection,
            fail: expression("FAKE_E2E_FAIL", &options.fail)?,
            flaky: expression("FAKE_E2E_FLAKY", &options.flaky)?,
            reason: options.reason.clone(),
            parallel,
            dry_run: !options.dry_run.is_empty(),
            progress_url: url.filter(|_| options.no_progress.is_empty()).map(str::to_owned),
            focus,
            skip,
        })
    }
}

/// Returns the list of the options, or that of the cluster's version, or the latest one.
fn list(options: &SuiteOptions) -> Result<TestList> {
    if let Some(path) = &options.list {
        return Ok(read_file(path)?);
    }
    let lists = built_in();
    if let Some(version) = &options.list_version {
        return Ok(lists.closest(Some(version))?);
    }
    let cluster = Some(options.cluster_version.as_str()).filter(|version| !version.is_empty());
    lists.closest(cluster).or_else(|error| {
        // The names of another version suffice, because the cluster does not run them.
        say(format_args!("test-plugin: {error}: using the latest known version"));
        Ok(lists.closest(None)?)
    })
}

/// Returns the lists of the built-in profile of this suite. Without it, there are none.
fn built_in() -> Embedded<'static> {
    let suite = profiles().iter().find(|profile| profile.plugin.name == "e2e");
    Embedded::new(suite.map(|profile| profile.by_version("lists/tests/{version}.gz")).unwrap_or_default())
}

const NODES: [&str; 4] = [
    "[ReportBeforeSuite]",
    "[SynchronizedBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[ReportAfterSuite] Kubernetes e2e suite report",
];
/// The prefix of the names of nodes that write reports.
const REPORT: &str = "[Report";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Skipped,
    Passed,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: String,
    /// Whether it is a setup node, which is not counted and not in the log.
    pub(super) node: bool,
    pub(super) fate: Fate,
    pub(super) time: Duration,
    /// When it started, once it has run.
    pub(super) started: Option<Timestamp>,
}

/// The number of tests with each outcome, without setup nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) skipped: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) fn selected(self) -> usize {
        self.passed + self.failed
    }

    pub(super) fn total(self) -> usize {
        self.selected() + self.skipped
    }

    pub(super) fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Skipped => self.skipped += 1,
            Fate::Passed => self.passed += 1,
            Fate::Failed => self.failed += 1,
        }
    }
}

/// Decides the outcome of every test of the list. `test_time` is the duration of each. By default,
/// it is made of the name, and the same in every run.
pub(super) fn plan(settings: &Settings, test_time: Option<Duration>) -> Vec<Case> {
    // A focus with the whole name of a test is that of a rerun.
    let named: BTreeSet<&str> = alternatives(&settings.focus).map(plain_name).collect();
    let prefix = format!("{SUITE} ");
    let case = |name: &str| {
        let node = is_suite_node(name);
        let again = || named.contains(go_quote(name).as_str());
        let fails = || settings.fail.as_ref().is_some_and(|fail| fail.is_match(name));
        let flakes = || settings.flaky.as_ref().is_some_and(|flaky| flaky.is_match(name)) && !again();
        let fate = match () {
            () if node => Fate::Passed,
            () if !settings.selection.runs(&prefix, name) => Fate::Skipped,
            () if !settings.dry_run && (fails() || flakes()) => Fate::Failed,
            () => Fate::Passed,
        };
        let time = match fate {
            Fate::Skipped => Duration::ZERO,
            _ if settings.dry_run || node => Duration::ZERO,
            _ => test_time.unwrap_or_else(|| pretended(name)),
        };
        Case { name: name.to_owned(), node, fate, time, started: None }
    };
    let mut cases: Vec<Case> = NODES.into_iter().chain(settings.list.specs()).map(case).collect();
    if counts(&cases).selected() == 0 {
        // Without tests, only the nodes that write reports run.
        cases.retain(|case| !case.node || case.name.starts_with(REPORT));
    }
    cases
}

pub(super) fn counts(cases: &[Case]) -> Counts {
    let mut counts = Counts::default();
    cases.iter().filter(|case| !case.node).for_each(|case| counts.add(case.fate));
    counts
}

/// A duration between 50 ms and 30 s, as of most tests of the suite. FNV-1a gives the same one
/// everywhere.
fn pretended(name: &str) -> Duration {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Duration::from_millis(50 + (hash >> 16) % 29_950)
}
