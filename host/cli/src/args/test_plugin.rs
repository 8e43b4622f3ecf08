//! Arguments of the plugin for tests, and of the programs that it plays.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::test_plugin::{self as app, AttackOptions, FakeSuiteOptions, TestPluginOptions};
use plumbline_core::duration::parse_duration;
use plumbline_core::size::parse_size;
use plumbline_kubernetes::names;

/// The most items that it writes: more than any suite has, and a file that a disk can hold.
const MAX_ITEMS: i64 = 10_000_000;
/// The most progress updates that it posts: several a second for an hour.
const MAX_UPDATES: i64 = 10_000;

/// A plugin that does what it is told: for tests of clusters, and for trying things out.
#[derive(Debug, Clone, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TestPluginArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TestPluginCommand>,
    /// How it ends
    #[arg(long, value_enum, default_value_t = Ending::Pass, value_name = "HOW")]
    pub(crate) outcome: Ending,
    /// How long it works before that, such as `90s`
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration)]
    pub(crate) after: Duration,
    /// What it writes: `raw` cannot say that an item failed
    #[arg(long, value_enum, default_value_t = ResultFormat::Junit, value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
    /// How many items it reports; with `--outcome fail` the last one failed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=MAX_ITEMS))]
    pub(crate) items: u32,
    /// Write another file of this size beside the results, such as `64MiB`
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<u64>,
    /// Post this many progress updates while it works
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MAX_UPDATES))]
    pub(crate) progress: u32,
    /// The exit code; without it 0, or 1 for `--outcome crash`
    #[arg(long = "exit", value_name = "N")]
    pub(crate) exit: Option<u8>,
    /// Send an archive (`.tar.gz`) of the results
    #[arg(long, conflicts_with = "file")]
    pub(crate) archive: bool,
    /// Send the one file with the results; so it is without `--archive` and `--bytes`. With `--bytes` alone it is the directory
    #[arg(long, conflicts_with = "bytes")]
    pub(crate) file: bool,
    /// Stay until told to end, after the results are written: what a plugin of a DaemonSet has to do
    #[arg(long)]
    pub(crate) stay: bool,
    /// Do not say that the results are done
    #[arg(long)]
    pub(crate) no_done: bool,
    /// Where worker and plugin meet
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
    /// Write a result for `plumbline report` in place of those for a worker
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["archive", "file", "bytes"])]
    pub(crate) adapter_result: Option<AdapterResult>,
    /// Where `plumbline report` looks for it
    #[arg(long, env = "RESULTS_PATH", default_value = "/results/adapter-result.json", value_name = "FILE")]
    pub(crate) results_path: PathBuf,
    /// The worker's port for progress updates
    #[arg(long, env = "SONOBUOY_PROGRESS_PORT", default_value_t = 8099, value_name = "PORT")]
    pub(crate) progress_port: u16,
}

/// Plugins that it can stand in for.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum TestPluginCommand {
    /// Be the image of the conformance suite, as far as can be seen from outside it
    E2e(Box<FakeE2eArgs>),
    Attack(AttackArgs),
}

/// How a test plugin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ending {
    /// Every item passed
    Pass,
    /// The last item failed
    Fail,
    /// In the middle of writing, with an exit code, without saying that it is done
    Crash,
    /// Not at all, until it is told to end
    Hang,
    /// Without a result, with exit code 0
    None,
    /// It takes memory until it is killed, or 2 GiB are taken
    Oom,
}

/// What a test plugin writes for `plumbline report`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdapterResult {
    /// A result that says `success`
    Success,
    /// A result that says `failure`, with details
    Failure,
    /// A file that is no result
    Invalid,
    /// The beginning of a result
    Half,
}

/// What a test plugin writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// One suite of JUnit XML
    Junit,
    /// A text file
    Raw,
    /// Events of `go test -json`
    Gojson,
    /// A result tree in YAML
    Manual,
}

/// Try what a malicious plugin would try, and report each attempt that the cluster or the aggregator allows as a failure.
///
/// Requests to the API server are dry runs: an attempt that is allowed changes nothing.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AttackArgs {
    /// The plugin to send results for
    #[arg(long, value_name = "PLUGIN")]
    pub(crate) victim: String,
    /// The namespace of the run; without it the one that the pod's DNS configuration names
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Also look into other processes of the node until the worker of the victim is among them
    #[arg(long)]
    pub(crate) host_processes: bool,
    /// Stay until told to end, after the results are written
    #[arg(long)]
    pub(crate) stay: bool,
    /// Where worker and plugin meet
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
}

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
    #[arg(long, env = "FAKE_E2E_CRASH", value_name = "WHEN", value_parser = crash_after)]
    pub(crate) crash: Option<usize>,
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

/// Parses `after:N`.
fn crash_after(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix("after:").and_then(|number| number.parse().ok());
    number.ok_or_else(|| "it is written as `after:10`".to_owned())
}

impl From<&TestPluginArgs> for TestPluginOptions {
    fn from(args: &TestPluginArgs) -> Self {
        let args = args.clone();
        Self {
            outcome: match args.outcome {
                Ending::Pass => app::Ending::Pass,
                Ending::Fail => app::Ending::Fail,
                Ending::Crash => app::Ending::Crash,
                Ending::Hang => app::Ending::Hang,
                Ending::None => app::Ending::None,
                Ending::Oom => app::Ending::Oom,
            },
            after: args.after,
            format: match args.format {
                ResultFormat::Junit => app::ResultFormat::Junit,
                ResultFormat::Raw => app::ResultFormat::Raw,
                ResultFormat::Gojson => app::ResultFormat::Gojson,
                ResultFormat::Manual => app::ResultFormat::Manual,
            },
            items: args.items,
            bytes: args.bytes,
            progress: args.progress,
            exit: args.exit,
            archive: args.archive,
            stay: args.stay,
            no_done: args.no_done,
            results_dir: args.results_dir,
            adapter_result: args.adapter_result.map(|result| match result {
                AdapterResult::Success => app::AdapterResult::Success,
                AdapterResult::Failure => app::AdapterResult::Failure,
                AdapterResult::Invalid => app::AdapterResult::Invalid,
                AdapterResult::Half => app::AdapterResult::Half,
            }),
            results_path: args.results_path,
            progress_port: args.progress_port,
        }
    }
}

impl From<&AttackArgs> for AttackOptions {
    fn from(args: &AttackArgs) -> Self {
        let args = args.clone();
        Self {
            victim: args.victim,
            namespace: args.namespace,
            host_processes: args.host_processes,
            stay: args.stay,
            results_dir: args.results_dir,
        }
    }
}

impl From<&FakeE2eArgs> for FakeSuiteOptions {
    fn from(args: &FakeE2eArgs) -> Self {
        let args = args.clone();
        Self {
            results_dir: args.results_dir,
            focus: args.focus,
            skip: args.skip,
            parallel: args.parallel,
            dry_run: args.dry_run,
            extra_args: args.extra_args,
            extra_args_sep: args.extra_args_sep,
            list_version: args.list_version,
            list: args.list,
            cluster_version: args.cluster_version,
            fail: args.fail,
            flaky: args.flaky,
            crash_after: args.crash,
            exit: args.exit,
            test_time: args.test_time,
            no_progress: args.no_progress,
        }
    }
}
