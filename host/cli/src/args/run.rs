//! `plumbline run`

use std::path::PathBuf;

use clap::ValueEnum;

use super::LimitsArg;
use super::time::Time;

/// Run plugins, wait for their results, and say how it went.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// Run on this machine: plugins become processes
    #[arg(long)]
    pub(crate) local: bool,
    /// A plugin: the name of a stock plugin, a definition, a directory with `plugin.yaml`, or `-` for standard input; repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR")]
    pub(crate) plugins: Vec<String>,
    /// How long each plugin may take, unless its definition says otherwise: seconds, or a duration such as `90m`; 0 for no limit
    #[arg(long, value_name = "TIME", default_value = "6h")]
    pub(crate) timeout: Time,
    /// Directory for the archive; without it, the current directory, or where the run that is gone on with was begun
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// What is shown while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Print the outcome as data on standard output
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
    /// Go on with a run that was broken off: its working directory
    #[arg(long = "continue", value_name = "DIR", conflicts_with_all = ["plugins", "timeout", "dry_run"])]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// Check definitions and modules, say what would be run and expected, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What is shown while waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitOutput {
    /// Nothing
    Silent,
    /// A sign of life on a terminal
    Spinner,
    /// Every plugin's progress: bars on a terminal, lines elsewhere
    Progress,
}

/// Data formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
}
