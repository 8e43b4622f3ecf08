//! The command line.

mod examples;
pub(crate) mod global;
pub(crate) mod name;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod reference;
pub(crate) mod shared;
pub(crate) mod tree;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use plumbline_app::AppError;
use plumbline_app::aggregator::AggregatorOptions;
use plumbline_worker::Mode;

use crate::args::global::Global;
use crate::args::tree::as_plumbline;
use crate::commands::cache::{self, CacheCommand};
use crate::commands::completion;
use crate::commands::conformance::{self, ConformanceCommand};
use crate::commands::delete::{self, DeleteArgs};
use crate::commands::doctor::{self, DoctorArgs};
use crate::commands::generate::{self, GenArgs};
use crate::commands::history::{self, HistoryArgs};
use crate::commands::images::{self, ImagesCommand};
use crate::commands::logs::{self, GetCommand, LogsArgs};
use crate::commands::man::{self, ManArgs};
use crate::commands::mcp::{self, McpArgs};
use crate::commands::node::{self, FactsArgs};
use crate::commands::plugin::{self, PluginCommand};
use crate::commands::query::{self, QueryArgs};
use crate::commands::results::{self, ResultsArgs};
use crate::commands::retrieve::{self, PieceArgs, RetrieveArgs, SplatArgs};
use crate::commands::roles::{self, CompileModuleArgs, ReportArgs};
use crate::commands::run::{self, RunArgs};
use crate::commands::status::{self, StatusArgs};
use crate::commands::submission::{self, SubmissionCommand};
use crate::commands::suite::{self, E2eArgs, ModesArgs};
use crate::commands::version::{self, VersionArgs};
use crate::commands::wait::{self, WaitArgs};
use crate::commands::worker::{self, WorkerCommand};
use crate::logging;

/// Run checks across a Kubernetes cluster or on one machine, and get one verdict and one archive.
#[derive(Debug, Parser)]
#[command(name = "plumbline", version, arg_required_else_help = true, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run plugins, wait for their results, and print the verdict
    // In a box: it has several times the options of any other.
    Run(Box<RunArgs>),
    /// Show the status of a run
    Status(StatusArgs),
    /// Wait for a run in a cluster to finish, and print the verdict
    Wait(WaitArgs),
    /// Show the results in archives and result files, or post-process them again
    Results(ResultsArgs),
    /// Compare tests over many runs: failing, flaky and slower tests, by cluster and version
    History(HistoryArgs),
    /// Let AI assistants read the results in archives: a server of the Model Context Protocol
    Mcp(McpArgs),
    /// Download the archive of a run from the cluster
    Retrieve(RetrieveArgs),
    /// Delete a run and everything that belongs to it from the cluster
    Delete(DeleteArgs),
    /// Print the names of the objects of a run
    #[command(subcommand)]
    Get(GetCommand),
    /// Generate the manifest of a run, its configuration, or the definition of a plugin
    Gen(Box<GenArgs>),
    /// Print the logs of a run's pods
    Logs(LogsArgs),
    /// Record the state of a cluster: resources, host data, pod logs, versions, health
    Query(QueryArgs),
    /// Run a conformance suite, list its tests, and make a submission
    #[command(subcommand)]
    Conformance(ConformanceCommand),
    // The names before `conformance` had them. The first two are also Sonobuoy's.
    /// List the tests of the suite, and which of them a focus selects
    #[command(hide = true)]
    E2e(E2eArgs),
    /// List the modes of the suite
    #[command(hide = true)]
    Modes(ModesArgs),
    /// Assemble and check a conformance submission
    #[command(hide = true)]
    #[command(subcommand)]
    Submission(SubmissionCommand),
    /// List, copy and check the images that a run needs
    #[command(subcommand)]
    Images(ImagesCommand),
    /// Use, write and distribute plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Print facts of this machine as JSON
    Facts(FactsArgs),
    /// Check this machine, the cluster and registries, and print versions
    Doctor(DoctorArgs),
    /// List or remove what is cached on this machine
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Print the version
    Version(VersionArgs),
    /// Print the completion script for a shell
    Completion {
        /// The shell
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Write the man pages, one for each command
    #[command(hide = true)]
    Man(ManArgs),
    /// Run the aggregator of a cluster: dispatch plugins and collect their results
    #[command(hide = true)]
    Aggregator(AggregatorOptions),
    /// Run next to a plugin: wait for its results and upload them
    #[command(hide = true)]
    #[command(subcommand)]
    Worker(WorkerCommand),
    /// For pods: report the result of a Job's container as a condition in the Job's status
    Report(ReportArgs),
    /// Write the finished archives of a directory to standard output, as one stream
    #[command(hide = true)]
    Splat(SplatArgs),
    /// List the finished archives of a directory, or write a part of one to standard output
    #[command(hide = true)]
    ArchivePiece(PieceArgs),
    /// Compile the module on standard input, within limits
    #[command(hide = true)]
    CompileModule(CompileModuleArgs),
    /// Run the check that the environment describes, in place of a plugin's container or process
    #[command(hide = true)]
    RunCheck,
}

impl Command {
    pub(crate) fn run(self, global: &Global) -> Result<ExitCode, AppError> {
        if self.logs_to_stderr() {
            logging::init(global);
        }
        match self {
            Self::Run(args) => run::run(&args, global),
            Self::Status(args) => status::status(&args, global),
            Self::Wait(args) => wait::wait(&args, global),
            Self::Results(args) => results::results(&args, global),
            Self::History(args) => history::history(&args, global),
            Self::Mcp(args) => mcp::mcp(&args),
            Self::Retrieve(args) => retrieve::retrieve(&args, global),
            Self::Delete(args) => delete::delete(&args, global),
            Self::Get(GetCommand::Pod(args)) => logs::pod(&args, global),
            Self::Splat(args) => Ok(retrieve::splat(&args)),
            Self::ArchivePiece(args) => retrieve::piece(&args),
            Self::CompileModule(args) => roles::compile_module(&args),
            Self::RunCheck => roles::run_check(global),
            Self::Gen(args) => generate::generate(&args, global),
            Self::Logs(args) => logs::logs(&args),
            Self::Query(args) => query::query(&args),
            Self::Conformance(command) => conformance::conformance(command, global),
            Self::Submission(command) => submission::submission(&command, global),
            Self::E2e(args) => suite::e2e(&args),
            Self::Modes(args) => suite::modes(&args),
            Self::Images(command) => images::images(&command),
            Self::Plugin(command) => plugin::plugin(&command, global),
            Self::Facts(args) => node::facts(&args),
            Self::Doctor(args) => doctor::doctor(&args),
            Self::Cache(command) => cache::cache(&command),
            Self::Version(args) => version::version(&args),
            Self::Completion { shell } => completion::completion(&shell),
            Self::Man(args) => man::man(&args, as_plumbline(Cli::command(), true)),
            Self::Aggregator(options) => roles::aggregator(&options, global),
            Self::Worker(command) => match command {
                WorkerCommand::Global(args) => worker::work(Mode::Global { sleep: args.sleep }, &args, global),
                WorkerCommand::SingleNode(args) => worker::work(Mode::SingleNode { sleep: args.sleep }, &args, global),
                WorkerCommand::Facts(args) => node::facts_role(&args),
                WorkerCommand::NodeLogs(args) => node::node_logs(&args, global),
                WorkerCommand::InRoot(args) => Ok(node::in_root(&args)),
            },
            Self::Report(args) => roles::report(&args, global),
        }
    }

    /// Whether the log goes to stderr from the start. The other commands do not log, or start the
    /// log with settings of their own.
    fn logs_to_stderr(&self) -> bool {
        if let Self::Conformance(ConformanceCommand::Run(args)) = self {
            return !args.local;
        }
        !matches!(
            self,
            Self::Run(_)
                | Self::Aggregator(_)
                | Self::Worker(_)
                | Self::Report(_)
                | Self::Splat(_)
                | Self::ArchivePiece(_)
                | Self::CompileModule(_)
                | Self::RunCheck
                | Self::Modes(_)
                | Self::Version(_)
                | Self::Completion { .. }
                | Self::Man(_)
        )
    }
}

/// The command line of a worker, with the same options as [`Cli`].
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
    #[command(subcommand)]
    Worker(WorkerCommand),
}
