//! Arguments of the commands on one run in a cluster: `status`, `logs`, `get`, `retrieve`, `delete`, `query`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_kubernetes::names;

use super::time::{Minutes, Time};
use super::{ClusterArgs, WaitOutput};

/// Minutes that `--wait` without a number means: a day.
const DAY: &str = "1440";

/// Show the status of a run.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Show a run on this machine instead of one in a cluster
    #[arg(long, conflicts_with_all = ["namespace", "kubeconfig", "context"])]
    pub(crate) local: bool,
    /// Id of the local run, or its first characters [default: the newest run]
    #[arg(requires = "local")]
    pub(crate) run: Option<String>,
    /// Print one line per expected result
    #[arg(long)]
    pub(crate) show_all: bool,
    /// Print the status annotation of the aggregator: one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print data (`json`, `yaml`), or a table with every detail (`wide`)
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "show_all"])]
    pub(crate) format: Option<StatusFormat>,
    /// Fetch every expected result of a run in a cluster, even if the annotation holds only a
    /// summary (not with `--local`)
    #[arg(long, conflicts_with = "local")]
    pub(crate) full: bool,
    /// Follow a run in a cluster until it finishes (not with `--local`): a live view on a terminal,
    /// otherwise one line per event
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
    /// One line per expected result, with heartbeats and what each waits for
    Wide,
}

/// Wait for a run in a cluster to finish, and print the verdict.
#[derive(Debug, clap::Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// How long to wait: seconds, or a duration such as `90m` [default: until the run finishes]
    #[arg(long, value_name = "TIME", conflicts_with = "wait")]
    pub(crate) timeout: Option<Time>,
    /// How long to wait, in minutes, as Sonobuoy has it
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, require_equals = true, default_missing_value = DAY)]
    pub(crate) wait: Option<u32>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
}

impl WaitArgs {
    /// How long to wait; `None` for no limit.
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
    /// Keep printing new lines until the run finishes, also of pods and containers that start later
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Show only the pods of this plugin; `sonobuoy` is the aggregator
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<String>,
}

/// Print the names of the objects of a run.
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
    /// Show only the pods of this plugin
    #[arg(short, long, value_name = "NAME")]
    pub(crate) plugin: Option<plumbline_core::PluginName>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Download the archive of a run from the cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrieveArgs {
    /// Directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Unpack the archive into the directory and delete the archive
    #[arg(short = 'x', long)]
    pub(crate) extract: bool,
    /// File name of the archive; further archives are numbered
    #[arg(short = 'f', long = "filename", value_name = "NAME", value_parser = plain_name)]
    pub(crate) file_name: Option<String>,
    /// Directory of the archive in the aggregator's pod
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR)]
    pub(crate) retrieve_path: String,
    /// Wait until the run is complete: minutes, or a duration such as `90s`; without a value, a day
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "1440")]
    pub(crate) wait: Option<Minutes>,
    /// Download what an unfinished run has gathered so far
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

/// Write the finished archives of a directory to standard output, as one stream.
#[derive(Debug, clap::Args)]
pub(crate) struct SplatArgs {
    /// The directory
    pub(crate) dir: PathBuf,
}

/// List the finished archives of a directory, or write a part of one to standard output.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["list", "snapshot", "name"]))]
pub(crate) struct PieceArgs {
    /// The directory
    pub(crate) dir: PathBuf,
    /// List the finished archives as JSON
    #[arg(long)]
    pub(crate) list: bool,
    /// Pack what the unfinished run has gathered so far
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

/// Delete a run and everything that belongs to it from the cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct DeleteArgs {
    /// Also delete the cluster roles of every other run, and namespaces that end-to-end tests left
    /// behind
    #[arg(long)]
    pub(crate) all: bool,
    /// Whether to delete cluster roles and their bindings
    #[arg(long, value_enum, ignore_case = true, default_value_t = RbacArg::Detect, value_name = "KIND")]
    pub(crate) rbac: RbacArg,
    /// Wait until everything is gone: minutes, or a duration such as `90s`; without a value, an
    /// hour
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "60")]
    pub(crate) wait: Option<Minutes>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Print what would be deleted, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation (without a terminal, nothing asks)
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

/// Whether to delete cluster roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RbacArg {
    /// If the cluster has roles
    Detect,
    /// Same as `detect`
    Enable,
    /// Never
    Disable,
}

/// Record the state of a cluster: resources, host data, pod logs, versions, health.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// What to record: the configuration of a run (`config.json`) [default: everything but Secrets]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Directory to write to [default: that of the configuration, otherwise a new one named by an
    /// id]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
