//! `plumbline status` and `plumbline wait`

use clap::ValueEnum;

use super::time::Time;
use super::{ClusterArgs, WaitOutput};

/// Minutes that `--wait` without a number stands for: a day.
const DAY: &str = "1440";

/// Show how a run goes.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Show a run of this user on this machine instead of one in a cluster
    #[arg(long, conflicts_with_all = ["namespace", "kubeconfig", "context"])]
    pub(crate) local: bool,
    /// The run on this machine: its id or the beginning of it; without one, the newest
    #[arg(requires = "local")]
    pub(crate) run: Option<String>,
    /// One line per expected result
    #[arg(long)]
    pub(crate) show_all: bool,
    /// Print the status as the aggregator tells it: one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print data (`json`, `yaml`), or a table with all there is to know (`wide`)
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "show_all"])]
    pub(crate) format: Option<StatusFormat>,
    /// Show every expected result of a run in a cluster (not with `--local`), also if the aggregator's pod holds only a summary
    #[arg(long, conflicts_with = "local")]
    pub(crate) full: bool,
    /// Follow a run in a cluster until it ends (not with `--local`): redrawn on a terminal, one line per event elsewhere
    #[arg(short, long, conflicts_with = "local")]
    pub(crate) watch: bool,
}

/// Formats of `plumbline status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// One line per expected result, with heartbeats and what is waited for
    Wide,
}

/// Wait for a run in a cluster to end, and say how it went.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// How long to wait: seconds, or a duration such as `90m`; without it, until the run has ended
    #[arg(long, value_name = "TIME", conflicts_with = "wait")]
    pub(crate) timeout: Option<Time>,
    /// The same in minutes, as other tools of the field have it
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, require_equals = true, default_missing_value = DAY)]
    pub(crate) wait: Option<u32>,
    /// What is shown while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
}

impl WaitArgs {
    /// How long to wait; `None` for as long as it takes.
    pub(crate) fn limit(&self) -> Option<std::time::Duration> {
        let minutes = self.wait.filter(|&minutes| minutes > 0);
        let minutes = minutes.map(|minutes| std::time::Duration::from_secs(60 * u64::from(minutes)));
        self.timeout.and_then(Time::limit).or(minutes)
    }
}
