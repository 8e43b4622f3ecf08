//! `plumbline worker`

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use plumbline_core::size::parse_size;
use plumbline_kubernetes::names::WORKER_SLEEP_VARIABLE;

use super::Global;

/// A command line that is a worker's, as [`super::Cli`] would read it.
#[derive(Debug, Parser)]
#[command(name = "plumbline", version)]
pub(crate) struct WorkerCli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: WorkerRole,
}

/// The one command of it.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerRole {
    Worker(WorkerArgs),
}

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
    /// Gather the logs of this machine's journal and print them as lines of JSON
    NodeLogs(NodeLogsArgs),
    /// Become a program in another root
    #[command(hide = true)]
    InRoot(InRootArgs),
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
    #[arg(long, env = WORKER_SLEEP_VARIABLE, hide_env = true, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) sleep: i64,
}

/// Who gathers facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Via {
    /// This program, from files of the machine
    #[default]
    Native,
    /// The machine's own Ansible
    Ansible,
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
    /// Write into this file instead of standard output; with `--done`, a name in the directory for results, `host-facts.json` unless
    /// another is given
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Who gathers
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: Via,
    /// Directory of additional facts below the root: `*.fact`, JSON or INI
    #[arg(long, default_value = plumbline_facts::DEFAULT_FACTS_DIR, value_name = "DIR")]
    pub(crate) facts_dir: String,
    /// Also run the executable ones among the additional facts; they print JSON or INI
    #[arg(long)]
    pub(crate) run_collectors: bool,
    /// Also run the machine's kubelet, container runtime and chronyc to ask for what no file tells
    #[arg(long)]
    pub(crate) run_programs: bool,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

/// `plumbline worker node-logs`
#[derive(Debug, clap::Args)]
pub(crate) struct NodeLogsArgs {
    /// Where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// How far back; 0 for everything that the journal has
    #[arg(long, env = "LOG_MINUTES", default_value_t = plumbline_facts::node_logs::DEFAULT_MINUTES, value_name = "MINUTES")]
    pub(crate) minutes: u64,
    /// How much is kept at most; of more, the newest, and the first line says what is missing
    #[arg(long, default_value = "256MiB", value_parser = parse_size, value_name = "SIZE")]
    pub(crate) max_bytes: u64,
    /// Write into this file instead of standard output; with `--done`, a name in the directory for results, `systemd_logs` unless another
    /// is given
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) done: DoneArgs,
}

/// `plumbline worker in-root`
#[derive(Debug, clap::Args)]
pub(crate) struct InRootArgs {
    /// The root
    pub(crate) root: PathBuf,
    /// The program, looked for in that root
    pub(crate) program: String,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}
