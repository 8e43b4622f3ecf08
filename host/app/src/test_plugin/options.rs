//! Options of the test plugin.

use std::path::PathBuf;
use std::time::Duration;

/// How the test plugin works, and how it ends.
#[derive(Debug, Clone)]
pub struct TestPluginOptions {
    /// How it ends.
    pub outcome: Ending,
    /// How long it works.
    pub after: Duration,
    /// The format of the results.
    pub format: ResultFormat,
    /// The number of items.
    pub items: u32,
    /// The size of a further file with the results.
    pub bytes: Option<u64>,
    /// The number of progress updates.
    pub progress: u32,
    /// The exit code.
    pub exit: Option<u8>,
    /// Whether it sends an archive.
    pub archive: bool,
    /// Whether it stays after it has written the results.
    pub stay: bool,
    /// Whether it writes no done file.
    pub no_done: bool,
    /// The directory that it shares with the worker.
    pub results_dir: PathBuf,
    /// The result for the reporter, instead of results for a worker.
    pub adapter_result: Option<AdapterResult>,
    /// The file for the result for the reporter.
    pub results_path: PathBuf,
    /// The port of the worker for progress updates.
    pub progress_port: u16,
}

/// How the test plugin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Every item passed.
    Pass,
    /// The last item failed.
    Fail,
    /// It crashes while it writes, without a done file.
    Crash,
    /// It does not end until it is asked to.
    Hang,
    /// It ends without a result, with exit code 0.
    None,
    /// It allocates memory until it is killed, or has 2 GiB.
    Oom,
}

/// A result for the reporter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterResult {
    /// A result with the status `success`.
    Success,
    /// A result with the status `failure`, with details.
    Failure,
    /// An invalid result.
    Invalid,
    /// The first half of a result.
    Half,
}

/// The format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// JUnit XML.
    Junit,
    /// Text.
    Raw,
    /// Events of `go test -json`.
    Gojson,
    /// A result tree in YAML.
    Manual,
}

/// What the attacking plugin tries.
#[derive(Debug, Clone)]
pub struct AttackOptions {
    /// The plugin that it sends results for.
    pub victim: String,
    /// The namespace of the run. By default, that in the DNS configuration of the pod.
    pub namespace: Option<String>,
    /// Whether it reads other processes of the node until it has found the worker of the victim.
    pub host_processes: bool,
    /// Whether it stays after it has written the results.
    pub stay: bool,
    /// The directory that it shares with the worker.
    pub results_dir: PathBuf,
}

/// Variables of the suite's image, and what its stand-in does with the tests.
#[derive(Debug, Clone)]
pub struct FakeSuiteOptions {
    /// The directory for results.
    pub results_dir: PathBuf,
    /// A regular expression for the tests to run.
    pub focus: String,
    /// A regular expression for the tests to skip.
    pub skip: String,
    /// `y`, `Y` or `true`: tests run in parallel.
    pub parallel: String,
    /// Any text: no test runs.
    pub dry_run: String,
    /// Arguments of the suite, of which the URL for progress is used.
    pub extra_args: String,
    /// The separator of these arguments.
    pub extra_args_sep: String,
    /// The version whose tests exist.
    pub list_version: Option<String>,
    /// The file with the tests that exist.
    pub list: Option<PathBuf>,
    /// The version of the cluster.
    pub cluster_version: String,
    /// A regular expression for tests that fail.
    pub fail: String,
    /// A regular expression for tests that fail until a focus has their quoted names.
    pub flaky: String,
    /// The number of tests after which it crashes without a report.
    pub crash_after: Option<usize>,
    /// The exit code if a test failed.
    pub exit: u8,
    /// The duration of each test.
    pub test_time: Option<Duration>,
    /// Any text: no progress is posted.
    pub no_progress: String,
}
