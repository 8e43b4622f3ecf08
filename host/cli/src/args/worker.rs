//! `plumbline worker`

use std::ffi::OsString;
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
    /// Run a program below another root
    #[command(hide = true)]
    EnterRoot(EnterRootArgs),
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

/// Who gathers facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Via {
    /// This program, from files of the machine
    #[default]
    Native,
    /// The machine's own Ansible
    Ansible,
}

/// `plumbline worker facts`
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    /// Where the machine's file system is mounted
    #[arg(long, env = "CHROOT_DIR", default_value = "/", value_name = "DIR")]
    pub(crate) root: PathBuf,
    /// Write into this file instead of standard output
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
    /// Write into the results directory of a plugin (`SONOBUOY_RESULTS_DIR`), then its done file
    #[arg(long)]
    pub(crate) done: bool,
    /// Seconds to stay afterwards, so that a pod is not restarted; negative: until ended
    #[arg(long, allow_negative_numbers = true, value_name = "SECONDS")]
    pub(crate) sleep: Option<i64>,
}

/// `plumbline worker enter-root`
#[derive(Debug, clap::Args)]
pub(crate) struct EnterRootArgs {
    /// The root
    pub(crate) root: PathBuf,
    /// The program, a path below the root
    pub(crate) program: PathBuf,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
