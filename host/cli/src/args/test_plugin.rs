//! `plumbline test-plugin`

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_core::duration::parse_duration;
use plumbline_core::size::parse_size;
use plumbline_kubernetes::names;

use super::{AttackArgs, FakeE2eArgs};

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
