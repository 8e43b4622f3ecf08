//! A plugin with a configurable outcome, for tests of clusters and of Plumbline itself.
//!
//! [`run`] delivers results, [`attack()`] attacks the run, and [`fake_suite`] stands in for the image
//! of the conformance suite. Each returns its exit code.

mod attack;
mod results;
mod suite;

use std::future::pending;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_core::duration::parse_duration;
use plumbline_core::size::parse_size;
use plumbline_kubernetes::names;
use tokio::signal::unix::{SignalKind, signal};

use crate::context::Context;
use crate::error::AppError;
use crate::runtime::one_thread;

pub use suite::fake_suite;

/// The most items that it writes: more than any suite has, and a file that a disk can hold.
const MAX_ITEMS: i64 = 10_000_000;
/// The most progress updates that it posts: several a second for an hour.
const MAX_UPDATES: i64 = 10_000;

/// How the test plugin works, and how it ends.
#[derive(Debug, Clone, clap::Args)]
pub struct TestPluginOptions {
    /// How it ends
    #[arg(long, value_enum, default_value_t = Ending::Pass, value_name = "HOW")]
    pub outcome: Ending,
    /// How long it works before that, such as `90s`
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_duration)]
    pub after: Duration,
    /// What it writes: `raw` cannot say that an item failed
    #[arg(long, value_enum, default_value_t = ResultFormat::Junit, value_name = "FORMAT")]
    pub format: ResultFormat,
    /// How many items it reports; with `--outcome fail` the last one failed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=MAX_ITEMS))]
    pub items: u32,
    /// Write another file of this size beside the results, such as `64MiB`
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub bytes: Option<u64>,
    /// Post this many progress updates while it works
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=MAX_UPDATES))]
    pub progress: u32,
    /// The exit code; without it 0, or 1 for `--outcome crash`
    #[arg(long = "exit", value_name = "N")]
    pub exit: Option<u8>,
    /// Send an archive (`.tar.gz`) of the results
    #[arg(long, conflicts_with = "file")]
    pub archive: bool,
    /// Send the one file with the results; so it is without `--archive` and `--bytes`. With `--bytes` alone it is the directory
    #[arg(long, conflicts_with = "bytes")]
    pub file: bool,
    /// Stay until told to end, after the results are written: what a plugin of a DaemonSet has to do
    #[arg(long)]
    pub stay: bool,
    /// Do not say that the results are done
    #[arg(long)]
    pub no_done: bool,
    /// Where worker and plugin meet
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    pub results_dir: PathBuf,
    /// Write a result for `plumbline report` in place of those for a worker
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["archive", "file", "bytes"])]
    pub adapter_result: Option<AdapterResult>,
    /// Where `plumbline report` looks for it
    #[arg(long, env = "RESULTS_PATH", default_value = "/results/adapter-result.json", value_name = "FILE")]
    pub results_path: PathBuf,
    /// The worker's port for progress updates
    #[arg(long, env = "SONOBUOY_PROGRESS_PORT", default_value_t = 8099, value_name = "PORT")]
    pub progress_port: u16,
}

/// How a test plugin ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ending {
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
pub enum AdapterResult {
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
pub enum ResultFormat {
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
pub struct AttackOptions {
    /// The plugin to send results for
    #[arg(long, value_name = "PLUGIN")]
    pub victim: String,
    /// The namespace of the run; without it the one that the pod's DNS configuration names
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Also look into other processes of the node until the worker of the victim is among them
    #[arg(long)]
    pub host_processes: bool,
    /// Stay until told to end, after the results are written
    #[arg(long)]
    pub stay: bool,
    /// Where worker and plugin meet
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = names::RESULTS_DIR, value_name = "DIR")]
    pub results_dir: PathBuf,
}

/// Be the image of the conformance suite, as far as can be seen from outside it: the same variables, reports, log, archive and done file. What it does with the tests stands in variables
/// of its own, which begin with `FAKE_E2E_`. Called by the name `run_e2e.sh`, as by a link in an image, the program is this.
#[derive(Debug, Clone, clap::Args)]
pub struct FakeSuiteOptions {
    /// Where results go
    #[arg(long, env = "RESULTS_DIR", default_value = "/tmp/results", value_name = "DIR")]
    pub results_dir: PathBuf,
    /// Which tests are run: a regular expression of Go's
    #[arg(long, env = "E2E_FOCUS", default_value = r"\[Conformance\]", value_name = "REGEX")]
    pub focus: String,
    /// Which of them are not; with `--parallel` the default is `\[Serial\]`
    #[arg(long, env = "E2E_SKIP", default_value = "", value_name = "REGEX")]
    pub skip: String,
    /// Whether tests run side by side: `y`, `Y` or `true`
    #[arg(long, env = "E2E_PARALLEL", default_value = "", value_name = "WORD")]
    pub parallel: String,
    /// With any value: only say what would be run
    #[arg(long, env = "E2E_DRYRUN", default_value = "", value_name = "WORD")]
    pub dry_run: String,
    /// Arguments for the suite; only the URL for progress reports is used
    #[arg(long, env = "E2E_EXTRA_ARGS", default_value = "", value_name = "ARGS", allow_hyphen_values = true)]
    pub extra_args: String,
    /// What stands between them
    #[arg(long, env = "E2E_EXTRA_ARGS_SEP", default_value = " ", value_name = "TEXT")]
    pub extra_args_sep: String,
    /// The version whose tests there are; without it that of the cluster, else the latest known
    #[arg(long, env = "FAKE_E2E_LIST_VERSION", value_name = "VERSION")]
    pub list_version: Option<String>,
    /// A list of tests in a file, in place of one that is known
    #[arg(long, env = "FAKE_E2E_LIST", value_name = "FILE", conflicts_with = "list_version")]
    pub list: Option<PathBuf>,
    /// The cluster's version, as a run tells its plugins
    #[arg(long, env = "SONOBUOY_K8S_VERSION", default_value = "", value_name = "VERSION")]
    pub cluster_version: String,
    /// Which tests fail
    #[arg(long, env = "FAKE_E2E_FAIL", default_value = "", value_name = "REGEX")]
    pub fail: String,
    /// Which tests fail until they are run again: by a focus with their whole, quoted names
    #[arg(long, env = "FAKE_E2E_FLAKY", default_value = "", value_name = "REGEX")]
    pub flaky: String,
    /// Break off without a report: `after:N` tests
    #[arg(long = "crash", env = "FAKE_E2E_CRASH", value_name = "WHEN", value_parser = crash_after)]
    pub crash_after: Option<usize>,
    /// The exit code when tests failed, as the image's
    #[arg(long, env = "FAKE_E2E_EXIT", default_value_t = 1, value_name = "CODE")]
    pub exit: u8,
    /// How long a test takes; without it they take no time, and reports say that they took some
    #[arg(long, env = "FAKE_E2E_TEST_TIME", value_name = "TIME", value_parser = parse_duration)]
    pub test_time: Option<Duration>,
    /// With any value: post no progress
    #[arg(long, env = "FAKE_E2E_NO_PROGRESS", default_value = "", value_name = "WORD")]
    pub no_progress: String,
}

fn crash_after(text: &str) -> Result<usize, String> {
    let number = text.strip_prefix("after:").and_then(|number| number.parse().ok());
    number.ok_or_else(|| "write it as `after:10`".to_owned())
}

/// The exit code after SIGTERM: 128 and the number of the signal, as shells report it.
const TERMINATED: u8 = 143;
/// The default exit code of a crash.
const CRASHED: u8 = 1;
/// The memory that is allocated at a time.
const PIECE: usize = 8 << 20;
/// The memory after which it gives up: without a limit, the test fails instead of the machine.
const MOST: usize = 2 << 30;

/// Works, writes results, and ends as the options say.
pub fn run(context: &Context, options: &TestPluginOptions) -> Result<u8, AppError> {
    let (work, exit) = (deliver(context, options), options.exit.unwrap_or(0));
    until_terminated(context, work, options.stay, exit)
}

/// Attacks the run and the cluster, and writes a report.
pub fn attack(context: &Context, options: &AttackOptions) -> Result<u8, AppError> {
    let work = async { attack::attack(context, options).await.map(|()| Done::Written) };
    until_terminated(context, work, options.stay, 0)
}

enum Done {
    /// It ends with this exit code.
    Exit(u8),
    /// It has written its results.
    Written,
}

/// Does the work, and stays if `stay` is set. SIGTERM ends both.
fn until_terminated(
    context: &Context,
    work: impl Future<Output = Result<Done, AppError>>,
    stay: bool,
    exit: u8,
) -> Result<u8, AppError> {
    let runtime = one_thread()?;
    let code = runtime.block_on(async {
        // The first process of a container only gets signals that it handles.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("failed to handle signals").because(&error))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => return Ok(TERMINATED),
            done = work => match done? {
                Done::Exit(code) => return Ok(code),
                Done::Written => {}
            },
        }
        if stay {
            terminate.recv().await;
            context.reporter.progress("test-plugin: asked to stop");
        }
        Ok(exit)
    });
    // Does not wait for files that are still being written.
    runtime.shutdown_background();
    code
}

async fn deliver(context: &Context, options: &TestPluginOptions) -> Result<Done, AppError> {
    let say = |text: &str| context.reporter.progress(text);
    results::work(context, options).await;
    match options.outcome {
        Ending::Pass | Ending::Fail => {}
        Ending::Crash => {
            let owned = options.clone();
            blocking(move || results::half(&owned)).await?;
            say("test-plugin: crashes as configured");
            return Ok(Done::Exit(options.exit.unwrap_or(CRASHED)));
        }
        Ending::Hang => {
            say("test-plugin: hangs as configured");
            pending::<()>().await;
        }
        Ending::None => {
            say("test-plugin: ends without a result as configured");
            return Ok(Done::Exit(options.exit.unwrap_or(0)));
        }
        Ending::Oom => {
            say("test-plugin: takes all memory as configured");
            return blocking(|| Err(take_all_memory())).await;
        }
    }
    let owned = options.clone();
    if let Some(what) = options.adapter_result {
        blocking(move || results::write_adapter_result(what, &owned.results_path)).await?;
        say(&format!("test-plugin: `{}` is written", options.results_path.display()));
        return Ok(Done::Written);
    }
    let sent = blocking(move || {
        let sent = results::results(&owned)?;
        if !owned.no_done {
            results::done(&owned.results_dir, &sent)?;
        }
        Ok(sent)
    });
    let sent = sent.await?;
    let done = if options.no_done { "written, and not said to be done" } else { "done" };
    say(&format!("test-plugin: `{}` is {done}", sent.display()));
    Ok(Done::Written)
}

/// Runs blocking work on a thread of its own, so that signals are handled.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(AppError::system("the test plugin failed").because(&error)),
    }
}

/// Allocates memory and writes to it until this process is killed. Returns only if it is not
/// killed.
fn take_all_memory() -> AppError {
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while taken.len() * PIECE < MOST {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE).is_err() {
            return AppError::system(format!("no memory is left after {} MiB", (taken.len() * PIECE) >> 20));
        }
        // The kernel only provides memory that is written to.
        piece.resize(PIECE, 1);
        taken.push(black_box(piece));
    }
    AppError::system(format!("used {} MiB without being stopped", MOST >> 20))
        .hint("set `resources.limits.memory` in the plugin's `spec`")
}
