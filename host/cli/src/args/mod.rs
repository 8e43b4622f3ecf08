//! The command line.

mod cluster;
mod logs;
mod plugin;
mod query;
mod results;
mod run;
mod time;
mod worker;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use cluster::ClusterArgs;
pub(crate) use logs::LogsArgs;
pub(crate) use plugin::{PluginArgs, PluginCommand, ProcessArgs};
pub(crate) use query::QueryArgs;
pub(crate) use results::{Mode, ResultsArgs, ResultsFormat};
pub(crate) use run::{RunArgs, RunFormat, WaitOutput};
pub(crate) use worker::{FactsArgs, RoleArgs, SingleNodeArgs, WorkerArgs, WorkerCommand};

/// Runs checks on a machine or a cluster and turns what they produce into one verdict and one archive.
#[derive(Debug, Parser)]
#[command(name = "plumbline", version, arg_required_else_help = true, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Under which heading the options of every command stand, below the command's own.
const GLOBAL: &str = "Options of every command";

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// How much the log tells on standard error
    #[arg(long, global = true, value_enum, ignore_case = true, default_value_t = Level::Warn, value_name = "LEVEL", help_heading = GLOBAL)]
    pub(crate) level: Level,
    /// Whether output is coloured; `auto` respects `NO_COLOR` and whether it is a terminal
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: Color,
    /// Which exit codes commands with a verdict give: `strict` tells failed results apart, `compat` gives 0 unless the tool itself failed
    #[arg(long, global = true, value_enum, default_value_t = ExitCodes::Strict, value_name = "KIND", help_heading = GLOBAL)]
    pub(crate) exit_code: ExitCodes,
}

/// Where the operator's limits stand.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LimitsArg {
    /// Limits on modules and uploads, as YAML or JSON (docs/limits.md); without it, the defaults
    #[arg(long = "limits", env = "PLUMBLINE_LIMITS", value_name = "FILE")]
    pub(crate) file: Option<std::path::PathBuf>,
}

/// Verbosity of the log, as other tools of the field name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// As `error`
    Panic,
    /// As `error`
    Fatal,
    /// Only what failed
    Error,
    /// Also what is odd
    Warn,
    /// Also what happens
    Info,
    /// Also why
    Debug,
    /// Everything
    Trace,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What exit codes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// 0 passed, 1 failed, 2 usage, 3 incomplete, 4 system, 5 nothing to judge, 130 interrupted
    Strict,
    /// 0 unless the tool itself failed
    Compat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run plugins, wait for their results, and say how it went
    Run(RunArgs),
    /// Show how a run goes
    Status(StatusArgs),
    /// Show what is in an archive, or compute it anew
    Results(ResultsArgs),
    /// Print the logs of a run's pods
    Logs(LogsArgs),
    /// Collect what a cluster says of itself: resources, host data, pod logs, versions, health
    Query(QueryArgs),
    /// Work on plugins: for their authors
    Plugin(PluginArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print the completion script for a shell
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Run beside a plugin: wait for its results and send them home
    #[command(hide = true)]
    Worker(WorkerArgs),
}

/// `plumbline status`
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// The run: its id or the beginning of it; without one, the newest run of this user on this machine
    pub(crate) run: Option<String>,
    /// One line per expected result
    #[arg(long)]
    pub(crate) show_all: bool,
    /// Print the status as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `plumbline version`
#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Only the version itself
    #[arg(long)]
    pub(crate) short: bool,
}
