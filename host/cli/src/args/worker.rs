//! `plumbline worker`

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use plumbline_core::size::parse_size;
use plumbline_kubernetes::names::WORKER_SLEEP_VARIABLE;

use super::Global;

/// The command line of a worker, with the same options as [`super::Cli`].
#[derive(Debug, Parser)]
#[command(name = "plumbline", version)]
pub(crate) struct WorkerCli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: WorkerRole,
}

/// The only command of a worker's command line.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerRole {
    Worker(WorkerArgs),
}

/// Run next to a plugin: wait for its results and upload them.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) command: WorkerCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Run next to a plugin that runs once per cluster
    Global(SleepArgs),
    /// Run next to a plugin that runs once per node
    SingleNode(SleepArgs),
    /// Print facts of this machine as JSON
    Facts(FactsArgs),
    /// Print the logs of this machine's journal as lines of JSON
    NodeLogs(NodeLogsArgs),
    /// Run a program in another root directory
    #[command(hide = true)]
    InRoot(InRootArgs),
}

/// Options of both kinds of worker.
#[derive(Debug, clap::Args)]
pub(crate) struct RoleArgs {
    /// Configuration as JSON; the environment overrides it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// IP address that accepts progress updates of the plugin [default: loopback]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) progress_bind: Option<IpAddr>,
    /// Outside of a pod: kubeconfig of the cluster
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// `plumbline worker global` and `plumbline worker single-node`
#[derive(Debug, clap::Args)]
pub(crate) struct SleepArgs {
    #[command(flatten)]
    pub(crate) role: RoleArgs,
    /// Seconds to keep running after the upload, so that the pod does not restart; negative:
    /// forever
    #[arg(long, env = WORKER_SLEEP_VARIABLE, hide_env = true, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) sleep: i64,
}

/// Sources of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Via {
    /// Plumbline, from files of the machine
    #[default]
    Native,
    /// Ansible of the machine
    Ansible,
}

/// Options of roles that are plugins themselves. Their image has no shell to write the done file.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DoneArgs {
    /// Write to the results directory, and then the done file
    #[arg(long)]
    pub(crate) done: bool,
    /// Results directory
    #[arg(long, env = "SONOBUOY_RESULTS_DIR", default_value = plumbline_worker::DEFAULT_RESULTS_DIR, value_name = "DIR")]
    pub(crate) results_dir: PathBuf,
    /// Keep running after the results are written, so that the container of a DaemonSet does not
    /// restart
    #[arg(long)]
    pub(crate) stay: bool,
}

/// `plumbline worker facts`
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    /// Directory where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Write to this file instead of standard output; with `--done`, a file name in the results
    /// directory [default with `--done`: host-facts.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Source of the facts
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: Via,
    /// Directory of additional facts in the root: `*.fact` files with JSON or INI
    #[arg(long, default_value = plumbline_facts::DEFAULT_FACTS_DIR, value_name = "DIR")]
    pub(crate) facts_dir: String,
    /// Also run executable `*.fact` files, which print JSON or INI
    #[arg(long)]
    pub(crate) run_collectors: bool,
    /// Also run the machine's kubelet, container runtime and chronyc for facts that no file has
    #[arg(long)]
    pub(crate) run_programs: bool,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

/// `plumbline worker node-logs`
#[derive(Debug, clap::Args)]
pub(crate) struct NodeLogsArgs {
    /// Directory where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// How many minutes to go back; 0 for the whole journal
    #[arg(long, env = "LOG_MINUTES", default_value_t = plumbline_facts::node_logs::DEFAULT_MINUTES, value_name = "MINUTES")]
    pub(crate) minutes: u64,
    /// Keep at most this much, the newest; the first line says how much is missing
    #[arg(long, default_value = "256MiB", value_parser = parse_size, value_name = "SIZE")]
    pub(crate) max_bytes: u64,
    /// Write to this file instead of standard output; with `--done`, a file name in the results
    /// directory [default with `--done`: systemd_logs]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

/// `plumbline worker in-root`
#[derive(Debug, clap::Args)]
pub(crate) struct InRootArgs {
    /// Root directory
    pub(crate) root: PathBuf,
    /// Program, found in that root
    pub(crate) program: String,
    /// Arguments of the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}
