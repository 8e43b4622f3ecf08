//! `plumbline worker`

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Subcommand;

/// Run beside a plugin: wait for its results and send them home.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Beside a plugin that runs once per cluster
    Global(SleepArgs),
    /// Beside a plugin that runs once per node
    SingleNode(SleepArgs),
    /// Gather facts of this machine and print them as JSON
    Facts(FactsArgs),
}

/// Options of both kinds of worker.
#[derive(Debug, clap::Args)]
pub(crate) struct RoleArgs {
    /// Configuration as JSON; the environment wins over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address that progress updates of the plugin are taken on; without it, loopback only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) progress_bind: Option<IpAddr>,
    /// Not in a pod: the cluster of this kubeconfig
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// `plumbline worker global` and `plumbline worker single-node`
#[derive(Debug, clap::Args)]
pub(crate) struct SleepArgs {
    #[command(flatten)]
    pub(crate) role: RoleArgs,
    /// Seconds to stay after the results are sent, so that a pod is not restarted; negative: until ended
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) sleep: i64,
}

/// Options of roles that are plugins themselves: their image has no shell that could say for them that they are done.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DoneArgs {
    /// Write into the directory for results, and its done file when everything is written
    #[arg(long)]
    pub(crate) done: bool,
    /// The directory for results
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = plumbline_worker::DEFAULT_RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
    /// Stay until told to end: the container of a DaemonSet is started again when it ends
    #[arg(long)]
    pub(crate) stay: bool,
}

/// `plumbline worker facts`
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    /// Where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Write into this file instead of standard output; with `--done`, a name in the directory for results
    #[arg(long, value_name = "FILE", required_if_eq("done", "true"))]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}
