//! Arguments of the commands on one run in a cluster: `status`, `logs`, `get`, `retrieve`, `delete`, `query`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_kubernetes::names;

use super::time::{Minutes, Time};
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

/// Print the logs of a run's pods.
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Go on with new lines, also of pods and containers that begin later, until the run is over
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only the pods of this plugin; `sonobuoy` stands for the aggregator
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
}

/// Print the names of objects of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct GetArgs {
    #[command(subcommand)]
    pub(crate) command: GetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GetCommand {
    /// Print the names of the pods of plugins
    #[command(alias = "pods")]
    Pod(GetPodArgs),
}

/// `plumbline get pod`
#[derive(Debug, clap::Args)]
pub(crate) struct GetPodArgs {
    /// Only those of this plugin
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<plumbline_core::PluginName>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Bring the archive of a run home from the cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrieveArgs {
    /// The directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Unpack the archive into the directory, and keep only what was in it
    #[arg(short = 'x', long)]
    pub(crate) extract: bool,
    /// The name to give the archive, without directories; further archives are numbered
    #[arg(short = 'f', long = "filename", value_name = "NAME", value_parser = plain_name)]
    pub(crate) file_name: Option<String>,
    /// The directory of the archive in the aggregator's pod
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR)]
    pub(crate) retrieve_path: String,
    /// Wait until the run is complete: at most so many minutes, or a duration such as `90s`; a day if nothing is said
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "1440")]
    pub(crate) wait: Option<Minutes>,
    /// Take what the run has gathered so far
    #[arg(long, conflicts_with = "wait")]
    pub(crate) partial: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

fn plain_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '\0']) {
        return Err("a file name without directories is needed: the directory is an argument of its own".to_owned());
    }
    Ok(text.to_owned())
}

/// Write the finished archives of a directory onto standard output, as one stream.
#[derive(Debug, clap::Args)]
pub(crate) struct SplatArgs {
    /// The directory
    pub(crate) dir: PathBuf,
}

/// List the finished archives of a directory, or write a piece of one onto standard output.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["list", "snapshot", "name"]))]
pub(crate) struct PieceArgs {
    /// The directory
    pub(crate) dir: PathBuf,
    /// List the finished archives as JSON
    #[arg(long)]
    pub(crate) list: bool,
    /// Pack what the run under way has gathered so far
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// The archive
    #[arg(long, requires_all = ["offset", "length"])]
    pub(crate) name: Option<String>,
    /// The first byte
    #[arg(long, requires = "name")]
    pub(crate) offset: Option<u64>,
    /// How many bytes
    #[arg(long, requires = "name")]
    pub(crate) length: Option<u64>,
}

/// Remove a run from the cluster: what belongs to it, and nothing else.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// Also remove the cluster roles of every other run, and the namespaces that end-to-end tests left behind
    #[arg(long)]
    pub(crate) all: bool,
    /// Whether cluster roles and their bindings are removed
    #[arg(long, value_enum, ignore_case = true, default_value_t = RbacArg::Detect, value_name = "KIND")]
    pub(crate) rbac: RbacArg,
    /// Wait until everything is gone: at most so many minutes, or a duration such as `90s`; an hour if nothing is said
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "60")]
    pub(crate) wait: Option<Minutes>,
    /// What is shown while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Say what would be removed, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask; without a terminal nothing is ever asked
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Whether cluster roles are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacArg {
    /// Where the cluster has roles
    Detect,
    /// As `detect`
    Enable,
    /// No: they are not looked for
    Disable,
}

/// Collect what a cluster says of itself: resources, host data, pod logs, versions, health.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What is collected: the configuration of a run (`config.json`); without it, everything but secrets
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The directory to write to; without it, what the configuration says, else a new one with an id for a name
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
