//! The command line.

mod aggregator;
mod cluster;
mod cluster_run;
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
pub(crate) use cluster_run::{BundleDelivery, ClusterRunArgs, RbacChoice};
pub(crate) use generate::{
    GenArgs, GenCommand, GenConfigArgs, GenImageConfigArgs, GenManifestArgs, GenPluginArgs, GenSchemaArgs, SchemaOf,
};
pub(crate) use images::{
    ImageSetArgs, ImagesArgs, ImagesCheckArgs, ImagesCommand, ImagesCopyArgs, ImagesIn, ImagesListArgs, ImagesLoadArgs,
    ImagesOut, ImagesPullArgs, ImagesPushArgs, ImagesSaveArgs,
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
pub(crate) use run::{LocalRunArgs, RunArgs, RunFormat, RunOptions, SkipPreflight, WaitOutput};
pub(crate) use status::{
    DeleteArgs, GetArgs, GetCommand, GetPodArgs, LogsArgs, PieceArgs, QueryArgs, RbacArg, RetrieveArgs, SplatArgs,
    StatusArgs, StatusFormat, WaitArgs,
};
pub(crate) use submission::{
    RequiredArgs, RequiredFrom, SubmissionArgs, SubmissionAssembleArgs, SubmissionCheckArgs, SubmissionCommand,
};
pub(crate) use suite::{E2eArgs, E2eMode, ModesArgs, Submitted, SuiteArgs};
pub(crate) use test_plugin::{
    AdapterResult, AttackArgs, Crash, Ending, FakeE2eArgs, ResultFormat, TestPluginArgs, TestPluginCommand,
};
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
    #[command(flatten)]
    pub(crate) ignored: ignored::Ignored,
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
    #[value(alias = "warning")]
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
    // In a box: it has several times the options of any other.
    Run(Box<RunArgs>),
    /// Show how a run goes
    Status(StatusArgs),
    /// Wait for a run in a cluster to end, and say how it went
    Wait(WaitArgs),
    /// Show the results in archives and result files, or compute them again
    Results(ResultsArgs),
    /// Bring the archive of a run home from the cluster
    Retrieve(RetrieveArgs),
    /// Remove a run from the cluster: what belongs to it, and nothing else
    Delete(DeleteArgs),
    /// Print the names of objects of a run
    Get(GetArgs),
    /// Print what a run in a cluster is made of: its manifest, a configuration, or the definition of a plugin
    Gen(Box<GenArgs>),
    /// Print the logs of a run's pods
    Logs(LogsArgs),
    /// Collect what a cluster says of itself: resources, host data, pod logs, versions, health
    Query(QueryArgs),
    /// Run the Kubernetes conformance suite, from the first look at the cluster to the verdict
    Conformance(Box<ConformanceArgs>),
    /// Put together and check what is submitted of a conformance run
    Submission(SubmissionArgs),
    /// List the tests of the suite, and what a focus selects of them
    E2e(E2eArgs),
    /// Print the modes of the suite
    Modes(ModesArgs),
    /// List, move and check the images that a run needs
    Images(ImagesArgs),
    /// Work on plugins: for their authors
    Plugin(PluginArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print the completion script for a shell
    #[command(
        after_help = "Examples:\n  source <(plumbline completion bash)\n  plumbline completion fish > ~/.config/fish/completions/plumbline.fish"
    )]
    Completion {
        /// The shell
        #[arg(value_parser = ["bash", "elvish", "fish", "powershell", "zsh"])]
        shell: String,
    },
    /// Run in a cluster: dispatch plugins and collect what they find
    #[command(hide = true)]
    Aggregator(AggregatorArgs),
    /// Run beside a plugin: wait for its results and send them home
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Run beside a container of a Job, and report its result as a condition of the Job's status
    Report(ReportArgs),
    /// Be a plugin that does what it is told: for tests, and for trying things out
    #[command(hide = true)]
    TestPlugin(TestPluginArgs),
    /// Write the finished archives of a directory onto standard output, as one stream
    #[command(hide = true)]
    Splat(SplatArgs),
    /// List the finished archives of a directory, or write a piece of one onto standard output
    #[command(hide = true)]
    ArchivePiece(PieceArgs),
    /// Compile the module on standard input, within limits
    #[command(hide = true)]
    CompileModule(CompileModuleArgs),
}

/// `plumbline compile-module`
#[derive(Debug, clap::Args)]
pub(crate) struct CompileModuleArgs {
    /// Bytes of memory
    pub(crate) memory: u64,
    /// Seconds of processor time
    pub(crate) cpu_seconds: u64,
}

/// `plumbline version`
#[derive(Debug, clap::Args)]
pub(crate) struct VersionArgs {
    /// Only the version itself
    #[arg(long)]
    pub(crate) short: bool,
    /// Also print the version of the API server that this kubeconfig file names
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    pub(crate) kubeconfig: Option<std::path::PathBuf>,
    /// Print the version as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with = "short")]
    pub(crate) format: Option<RunFormat>,
}
