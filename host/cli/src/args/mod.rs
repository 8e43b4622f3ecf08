//! The command line.

mod aggregator;
mod cluster;
mod cluster_run;
mod examples;
mod generate;
mod ignored;
mod images;
mod plugin;
mod registry;
mod report;
mod results;
mod run;
mod status;
mod submission;
mod suite;
mod test_plugin;
mod time;
mod worker;

use clap::{Parser, Subcommand, ValueEnum};

pub(crate) use aggregator::AggregatorArgs;
pub(crate) use cluster::ClusterArgs;
pub(crate) use cluster_run::ClusterRunArgs;
pub(crate) use examples::with_examples;
pub(crate) use generate::{
    GenArgs, GenCommand, GenConfigArgs, GenImageConfigArgs, GenManifestArgs, GenPluginArgs, GenSchemaArgs, SchemaOf,
};
pub(crate) use images::{
    ImageSetArgs, ImagesArgs, ImagesCheckArgs, ImagesCommand, ImagesIn, ImagesListArgs, ImagesOut,
};
pub(crate) use plugin::{
    BakeArgs, BuildArgs, CheckArgs, DataFormat, DevArgs, InspectArgs, InstallArgs, KeygenArgs, ListArgs, LoadArgs,
    LockArgs, NewArgs, PackArgs, PluginArgs, PluginCommand, ProcessArgs, PullArgs, PushArgs, SaveArgs, ShowArgs,
    SignArgs, TestArgs, UninstallArgs, VerifyArgs,
};
pub(crate) use registry::RegistryArgs;
pub(crate) use report::ReportArgs;
pub(crate) use results::{
    DiffArgs, DiffFormat, JudgeArgs, Mode, PolicyArg, ResultsArgs, ResultsCommand, ResultsFormat,
};
pub(crate) use run::{ConformanceArgs, ConformanceCommand, ConformanceRunArgs};
pub(crate) use run::{RunArgs, RunFormat, RunOptions, SkipPreflight, WaitOutput};
pub(crate) use status::{
    DeleteArgs, GetArgs, GetCommand, GetPodArgs, LogsArgs, PieceArgs, QueryArgs, RbacArg, RetrieveArgs, SplatArgs,
    StatusArgs, StatusFormat, WaitArgs,
};
pub(crate) use submission::{
    RequiredArgs, SubmissionArgs, SubmissionAssembleArgs, SubmissionCheckArgs, SubmissionCommand,
};
pub(crate) use suite::{E2eArgs, E2eMode, ModesArgs, SuiteArgs};
pub(crate) use test_plugin::{TestPluginArgs, TestPluginCommand};
pub(crate) use time::Time;
pub(crate) use worker::{
    DoneArgs, FactsArgs, InRootArgs, NodeLogsArgs, RoleArgs, SleepArgs, Via, WorkerArgs, WorkerCli, WorkerCommand,
    WorkerRole,
};

/// Runs checks on a machine or a cluster and turns what they produce into one verdict and one archive.
#[derive(Debug, Parser)]
#[command(name = "plumbline", version, arg_required_else_help = true, max_term_width = 120)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Heading of the options of every command, below those of the command itself.
const GLOBAL: &str = "Global options";

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Global {
    /// Verbosity of the log on standard error
    #[arg(long, global = true, value_enum, ignore_case = true, default_value_t = Level::Warn, value_name = "LEVEL", help_heading = GLOBAL)]
    pub(crate) level: Level,
    /// When to colour output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = GLOBAL)]
    pub(crate) color: Color,
    /// Exit-code convention for commands that produce a verdict
    #[arg(long, global = true, value_enum, default_value_t = ExitCodes::Strict, value_name = "KIND", help_heading = GLOBAL)]
    pub(crate) exit_code: ExitCodes,
    #[command(flatten)]
    pub(crate) ignored: ignored::Ignored,
}

/// The operator's limits.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct LimitsArg {
    /// Limits on modules and uploads, as YAML or JSON (docs/limits.md) [default: built-in limits]
    #[arg(long = "limits", env = "PLUMBLINE_LIMITS", value_name = "FILE")]
    pub(crate) file: Option<std::path::PathBuf>,
}

/// Verbosity of the log, with Sonobuoy's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// Same as `error`
    Panic,
    /// Same as `error`
    Fatal,
    /// Failures
    Error,
    /// Also unexpected conditions
    #[value(alias = "warning")]
    Warn,
    /// Also the steps of a run
    Info,
    /// Also details for troubleshooting
    Debug,
    /// Everything
    Trace,
}

/// When to colour output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Exit-code conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExitCodes {
    /// 0 passed, 1 failed, 2 usage, 3 incomplete, 4 system, 5 nothing to judge, 130 interrupted
    Strict,
    /// 0 unless Plumbline itself failed, as with Sonobuoy
    Compat,
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
    /// Download the archive of a run from the cluster
    Retrieve(RetrieveArgs),
    /// Delete a run and everything that belongs to it from the cluster
    Delete(DeleteArgs),
    /// Print the names of the objects of a run
    Get(GetArgs),
    /// Generate the manifest of a run, its configuration, or the definition of a plugin
    Gen(Box<GenArgs>),
    /// Print the logs of a run's pods
    Logs(LogsArgs),
    /// Record the state of a cluster: resources, host data, pod logs, versions, health
    Query(QueryArgs),
    /// Run the Kubernetes conformance suite
    Conformance(Box<ConformanceArgs>),
    /// Assemble and check a conformance submission
    Submission(SubmissionArgs),
    /// List the tests of the suite, and which of them a focus selects
    E2e(E2eArgs),
    /// List the modes of the suite
    Modes(ModesArgs),
    /// List, copy and check the images that a run needs
    Images(ImagesArgs),
    /// Write, share and use plugins
    Plugin(PluginArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print the completion script for a shell
    Completion {
        /// The shell
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Run the aggregator of a cluster: dispatch plugins and collect their results
    #[command(hide = true)]
    Aggregator(AggregatorArgs),
    /// Run next to a plugin: wait for its results and upload them
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Report the result of a Job's container as a condition in the Job's status; runs in the Job's
    /// pod
    Report(ReportArgs),
    /// Behave as a plugin in a chosen way, for tests
    #[command(hide = true)]
    TestPlugin(TestPluginArgs),
    /// Write the finished archives of a directory to standard output, as one stream
    #[command(hide = true)]
    Splat(SplatArgs),
    /// List the finished archives of a directory, or write a part of one to standard output
    #[command(hide = true)]
    ArchivePiece(PieceArgs),
    /// Compile the module on standard input, within limits
    #[command(hide = true)]
    CompileModule(CompileModuleArgs),
}

/// `plumbline compile-module`
#[derive(Debug, clap::Args)]
pub(crate) struct CompileModuleArgs {
    /// Memory limit in bytes
    pub(crate) memory: u64,
    /// Limit on processor time in seconds
    pub(crate) cpu_seconds: u64,
}

/// `plumbline version`
#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Print only the version number
    #[arg(long)]
    pub(crate) short: bool,
    /// Also print the version of the API server of this kubeconfig file
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    pub(crate) kubeconfig: Option<std::path::PathBuf>,
    /// Print the version in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with = "short")]
    pub(crate) format: Option<RunFormat>,
}
