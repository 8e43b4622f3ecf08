//! `plumbline run`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use plumbline_kubernetes::preflight::Check;

use super::time::Time;
use super::{ClusterArgs, ClusterRunArgs, JudgeArgs, LimitsArg, PolicyArg, RegistryArgs, RequiredFrom, SuiteArgs};
use crate::error::CliError;

/// Run plugins, wait for their results, and print the verdict.
#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) local: LocalRunArgs,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Options for runs on this machine. They name the options that they exclude; [`RunOptions`] does not know them, because
/// `conformance run` has it without these.
#[derive(Debug, clap::Args)]
pub(crate) struct LocalRunArgs {
    /// Run on this machine: plugins become processes
    #[arg(long, conflicts_with_all = ["manifest", "retrieve"])]
    pub(crate) local: bool,
    /// Print the outcome of a local run as data on standard output
    #[arg(short = 'o', long = "output-format", value_enum, value_name = "FORMAT", requires = "local")]
    pub(crate) output_format: Option<RunFormat>,
    /// Run this command on this machine, detect the format of the results that it writes, and read them. Options of plumbline come
    /// before `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["plugins", "resume", "manifest", "require_signed", "locked"])]
    pub(crate) command: Vec<String>,
    /// Read the results of COMMAND as this format instead of detecting it
    #[arg(long, value_name = "FORMAT", requires = "local")]
    format: Option<String>,
    /// Use this name for the plugin that runs COMMAND, instead of the name of its program
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) name: Option<String>,
    /// Continue an interrupted local run: its id, the beginning of it, or its working directory; without a value, the newest
    /// unfinished run
    #[arg(long = "continue", value_name = "RUN|DIR", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["plugins", "timeout", "dry_run", "manifest", "require_signed", "locked"])]
    pub(crate) resume: Option<String>,
}

impl LocalRunArgs {
    /// The format that the results of the command are read as; `None`: it is detected.
    pub(crate) fn result_format(&self) -> Option<&str> {
        self.format.as_deref().filter(|_| !self.command.is_empty())
    }

    /// The format of the outcome. Without a command, `--format` is the earlier name of `--output-format`.
    pub(crate) fn output_format(&self) -> Result<Option<RunFormat>, CliError> {
        let Some(format) = self.format.as_deref().filter(|_| self.command.is_empty()) else {
            return Ok(self.output_format);
        };
        RunFormat::from_str(format, true).map(Some).map_err(|_| {
            CliError::usage(format!("`--format {format}` has no command whose results it could name the format of"))
                .hint("give the command behind `--`; of a plugin, the definition names the format: `result-format`")
        })
    }
}

/// Options for runs on this machine and in a cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct RunOptions {
    /// A plugin: the name of a built-in or an installed one, a definition or a packed bundle (a file, or its address), a directory with
    /// `plugin.yaml`, or `-` for standard input; `FILE@NAME` calls the plugin NAME; repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// How long each plugin may take, unless its definition says otherwise: seconds, or a duration such as `90m`; 0 for no limit; 6 h
    /// if nothing else is said
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Time>,
    /// Directory for the archive; without it, the current directory, or that of the local run that is continued
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// What is shown while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    /// Begin only if every plugin that is no built-in plugin is a bundle with a signature that counts (docs/signing.md)
    #[arg(long, conflicts_with = "manifest")]
    pub(crate) require_signed: bool,
    #[command(flatten)]
    pub(crate) policy: PolicyArg,
    /// Begin only if every plugin is the one in the lock file; without a name, `plumbline.lock` (docs/signing.md)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "plumbline.lock", conflicts_with = "manifest")]
    pub(crate) locked: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Check everything, say what would be run or created, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Create the objects of this manifest (`-`: standard input) instead of making one from plugins
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with = "plugins")]
    pub(crate) manifest: Option<PathBuf>,
    /// Follow the run until it has ended, at most for so many minutes; without a number, a day. On a terminal it is followed anyway
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, require_equals = true, default_missing_value = "1440")]
    pub(crate) wait: Option<u32>,
    /// Bring the archive home when the run has ended
    #[arg(long)]
    pub(crate) retrieve: bool,
    /// Leave out checks: `true` for all, or names (`dnscheck`, `versioncheck`, `existingnamespace`, `permissions`)
    #[arg(long, value_name = "CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_delimiter = ',')]
    pub(crate) skip_preflight: Vec<SkipPreflight>,
    /// Where the pods of the cluster's DNS server are
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) dns_namespace: String,
    /// Labels, one of which these pods have
    #[arg(long, value_name = "LABELS", default_value = "k8s-app=kube-dns,k8s-app=coredns", value_delimiter = ',')]
    pub(crate) dns_pod_labels: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster_run: ClusterRunArgs,
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
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

/// What of the preflight is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SkipPreflight {
    /// All of it
    All,
    /// Nothing
    None,
    /// One check
    One(Check),
}

impl std::str::FromStr for SkipPreflight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "true" | "*" => Ok(Self::All),
            "false" => Ok(Self::None),
            name => Check::ALL.into_iter().find(|check| check.name() == name).map(Self::One).ok_or_else(|| {
                let known: Vec<_> = Check::ALL.iter().map(|check| format!("`{}`", check.name())).collect();
                format!("there is no check of this name: there are {}, and `true` for all", known.join(", "))
            }),
        }
    }
}

/// Run the Kubernetes conformance suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceArgs {
    #[command(subcommand)]
    pub(crate) command: ConformanceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConformanceCommand {
    /// Look at the cluster, run the suite, follow it, bring the archive home, and say how it went: as
    /// `plumbline run --plugin e2e --wait --retrieve` does
    Run(Box<ConformanceRunArgs>),
}

/// `plumbline conformance run`
#[derive(Debug, clap::Args)]
pub(crate) struct ConformanceRunArgs {
    /// Put together and check what is submitted for a certificate, in this directory; the mode is then `certified-conformance` unless
    /// tests are chosen otherwise
    #[arg(long, value_name = "DIR", requires = "product")]
    pub(crate) submission_dir: Option<PathBuf>,
    /// What is submitted: a `PRODUCT.yaml`
    #[arg(long, value_name = "FILE", requires = "submission_dir")]
    pub(crate) product: Option<PathBuf>,
    /// Which tests a certificate requires: a `conformance.yaml`, or `image[:REFERENCE]`, which asks the suite's image on this machine; without
    /// it, the list that comes with this program for some versions
    #[arg(long, value_name = "FILE|image[:REF]", requires = "submission_dir")]
    pub(crate) required: Option<RequiredFrom>,
    #[command(flatten)]
    pub(crate) run: RunOptions,
}
