//! Options that several use cases share: runs, clusters, registries and formats.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use plumbline_core::duration::parse_duration;
use plumbline_kubernetes::preflight::Check;
use plumbline_kubernetes::{ConnectOptions, names};
use plumbline_registry::Settings;
use serde::Serialize;

use crate::error::{AppError, quoted};
use crate::history::Retention;
use crate::judges::JudgeOptions;
use crate::manifest::ClusterRunOptions;
use crate::modules::LimitsFile;
use crate::profiles::ProfileRun;
use crate::report::{print_json, print_yaml};
use crate::signing::Requirements;
use crate::suite::SuiteOptions;

const HEADING: &str = "Registry options";

/// How to reach registries, in addition to the environment (docs/registries.md).
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RegistryArgs {
    /// Trust the CA certificates in this PEM file in addition to the system's; repeatable; also
    /// `PLUMBLINE_REGISTRY_CA`
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub registry_ca: Vec<PathBuf>,
    /// Use plain HTTP for this registry; repeatable; also `PLUMBLINE_INSECURE_REGISTRIES`
    #[arg(long, value_name = "HOST[:PORT]", help_heading = HEADING)]
    pub insecure_registry: Vec<String>,
    /// Send the credentials of this registry to this token server if the registry refers to it;
    /// repeatable; also `PLUMBLINE_REGISTRY_TOKEN_SERVERS`
    #[arg(long, value_name = "REGISTRY=HOST[:PORT]", help_heading = HEADING)]
    pub registry_token_server: Vec<String>,
    /// Pull from a mirror of this registry, or of a path in it; repeatable; also
    /// `PLUMBLINE_REGISTRY_MIRRORS`
    #[arg(long = "mirror", value_name = "HOST[/PATH]=HOST[:PORT][/PATH]", help_heading = HEADING)]
    pub mirrors: Vec<String>,
}

impl RegistryArgs {
    /// These options together with the environment.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::from_environment(|name| std::env::var_os(name));
        settings.ca_files.extend(self.registry_ca.iter().cloned());
        settings.insecure.extend(self.insecure_registry.iter().cloned());
        settings.token_servers.extend(self.registry_token_server.iter().cloned());
        // Of two for the same names the last counts: what the command line says.
        settings.mirrors.extend(self.mirrors.iter().cloned());
        settings
    }
}

/// Options of every command that talks to a cluster.
#[derive(Debug, Clone, clap::Args)]
pub struct ClusterArgs {
    /// Namespace of the run
    #[arg(short, long, value_name = "NAME", default_value = names::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// Kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the service account of this pod]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

impl ClusterArgs {
    /// Which cluster to connect to.
    pub fn connect_options(&self) -> ConnectOptions {
        ConnectOptions { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}

/// What `--wait` without a value means.
pub const DAY: &str = "24h";

/// Where the DNS server of most clusters is, and the labels of its pods.
pub(crate) const DNS_NAMESPACE: &str = "kube-system";
pub(crate) const DNS_LABELS: &str = "k8s-app=kube-dns,k8s-app=coredns";

/// The time limit of plugins whose definition has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// The limit that an option sets: zero stands for no limit.
pub fn limit(span: Duration) -> Option<Duration> {
    (!span.is_zero()).then_some(span)
}

/// What is shown while a command waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitOutput {
    /// Nothing
    Silent,
    /// A spinner on a terminal
    Spinner,
    /// The progress of every plugin: bars on a terminal, otherwise lines
    Progress,
}

/// The formats of outcomes as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
}

impl RunFormat {
    /// Writes `data` in this format.
    pub fn write(self, data: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json => print_json(data, out),
            Self::Yaml => print_yaml(data, out),
        }
    }
}

/// Options for runs on this machine. They list the options they exclude. [`RunOptions`] does not
/// know these options, because `conformance run` has it without them.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Local run options")]
pub struct LocalRunArgs {
    /// Run on this machine: plugins become processes
    #[arg(long, conflicts_with_all = ["manifest", "retrieve"])]
    pub local: bool,
    /// Run this command on this machine, and detect and read the results it writes. Put options of
    /// plumbline before `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["plugins", "resume", "manifest", "require_signed", "locked"])]
    pub command: Vec<String>,
    /// Format of the results of COMMAND [default: detected]
    #[arg(long, alias = "format", value_name = "FORMAT", requires = "local")]
    pub result_format: Option<String>,
    /// Name of the plugin that runs COMMAND [default: the name of its program]
    #[arg(long, value_name = "NAME", requires = "command")]
    pub name: Option<String>,
    /// Continue an interrupted local run: its ID, the first characters of the ID, or its working
    /// directory; without a value, the newest unfinished run
    #[arg(long = "continue", value_name = "RUN|DIR", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["plugins", "timeout", "dry_run", "manifest", "require_signed", "locked"])]
    pub resume: Option<String>,
}

impl LocalRunArgs {
    /// The format of the command's results; `None` to detect it.
    pub fn result_format(&self) -> Option<&str> {
        self.result_format.as_deref().filter(|_| !self.command.is_empty())
    }

    /// The format of the outcome. Without a command, `--format` is an earlier name of `--output`.
    pub fn output_format(&self, given: Option<RunFormat>) -> Result<Option<RunFormat>, AppError> {
        let Some(format) = self.result_format.as_deref().filter(|_| self.command.is_empty()) else {
            return Ok(given);
        };
        RunFormat::from_str(format, true).map(Some).map_err(|_| {
            AppError::usage(format!("`--result-format {format}` needs a command that writes results in this format"))
                .hint("pass the command after `--`; for a plugin, set `result-format` in its definition")
        })
    }
}

/// Options for runs on this machine and in a cluster.
#[derive(Debug, clap::Args)]
pub struct RunOptions {
    /// A plugin: the name of a built-in or installed one, a definition or packed bundle (file or
    /// URL), a directory, or `-` for standard input. `FILE@NAME` names the plugin NAME; repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub plugins: Vec<String>,
    /// Time limit of plugins whose definition has none, such as `90m`; `0` for no limit [default:
    /// 6h]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Directory for the archive [default: the current directory, or that of the run to continue]
    #[arg(short, long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Print the outcome in this format on standard output
    #[arg(short = 'o', long = "output", alias = "output-format", value_enum, value_name = "FORMAT")]
    pub format: Option<RunFormat>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub wait_output: WaitOutput,
    /// What the run requires of its plugins.
    #[command(flatten)]
    pub requirements: Requirements,
    /// The file with limits of modules and uploads.
    #[command(flatten)]
    pub limits: LimitsFile,
    /// How to reach registries.
    #[command(flatten)]
    pub registry: RegistryArgs,
    /// Sign a statement about the results with this private key, next to the archive
    /// (docs/attestations.md); in a cluster, with `--retrieve`
    #[arg(long, value_name = "FILE")]
    pub sign: Option<PathBuf>,
    /// Check everything, print what would run or be created, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// The cluster, and the namespace of the run.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Create the objects of this manifest (`-`: standard input) instead of generating one
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["plugins", "require_signed", "locked"])]
    pub manifest: Option<PathBuf>,
    /// Wait for the run to finish, at most this long; without a value, 24h; `0` does not wait. On a
    /// terminal, `run` waits by default
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = DAY, value_parser = parse_duration)]
    pub wait: Option<Duration>,
    /// Download the archive when the run finishes
    #[arg(long)]
    pub retrieve: bool,
    /// Skip preflight checks: `true` for all, or names (`dnscheck`, `versioncheck`,
    /// `existingnamespace`, `permissions`)
    #[arg(long, value_name = "CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_delimiter = ',')]
    pub skip_preflight: Vec<SkipPreflight>,
    /// Namespace of the cluster's DNS server
    #[arg(long, value_name = "NAME", default_value = DNS_NAMESPACE)]
    pub dns_namespace: String,
    /// Labels of the DNS server's pods; one of them is enough
    #[arg(long, value_name = "LABELS", default_value = DNS_LABELS, value_delimiter = ',')]
    pub dns_pod_labels: Vec<String>,
    /// Options of runs in a cluster.
    #[command(flatten)]
    pub cluster_run: ClusterRunOptions,
    /// Options of the suite.
    #[command(flatten)]
    pub suite: SuiteOptions,
    /// How failures are judged.
    #[command(flatten)]
    pub judge: JudgeOptions,
    /// Where archives are kept, and how many.
    #[command(flatten)]
    pub retention: Retention,
    /// The profile of the first plugin; only `conformance run` has one.
    #[arg(skip)]
    pub profile: Option<ProfileRun>,
}

impl RunOptions {
    /// The directory for the archive.
    pub fn archive_dir(&self) -> Option<&Path> {
        self.dir.as_deref().or(self.retention.history.as_deref())
    }

    /// The time limit of plugins whose definition has none, on this machine. `None` for no limit.
    pub(crate) fn plugin_timeout(&self) -> Option<Duration> {
        limit(self.timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    /// The checks of the cluster that are not made.
    pub(crate) fn skipped_checks(&self) -> Vec<Check> {
        let checks = self.skip_preflight.iter().flat_map(|skip| match skip {
            SkipPreflight::All => Check::ALL.to_vec(),
            SkipPreflight::None => Vec::new(),
            SkipPreflight::One(check) => vec![*check],
        });
        checks.collect()
    }
}

/// Checks of the cluster that `--skip-preflight` leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipPreflight {
    /// All checks
    All,
    /// No check
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
                let known = quoted(Check::ALL.iter().map(|check| check.name()));
                format!("unknown check: expected {known}, or `true` for all")
            }),
        }
    }
}
