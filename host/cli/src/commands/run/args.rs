//! The options of `plumbline run`.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use plumbline_app::AppError;
use plumbline_app::earlier::{EarlierRun, earlier_run};
use plumbline_app::history::Retention;
use plumbline_app::judges::JudgeOptions;
use plumbline_app::manifest::ClusterRunOptions;
use plumbline_app::modules::LimitsFile;
use plumbline_app::profiles::ProfileRun;
use plumbline_app::signing::Requirements;
use plumbline_app::suite::SuiteOptions;
use plumbline_core::duration::parse_duration;
use plumbline_kubernetes::preflight::Check;

use crate::args::name::Name;
use crate::args::shared::{DAY, EXIT_CODES, RegistryArgs, RunFormat, WaitOutput};
use crate::commands::cluster::ClusterArgs;
use crate::ui::has_estimates;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    // First, so that help starts with what to run.
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) local: LocalRunArgs,
}

/// Options for runs on this machine. They list the options they exclude. [`RunOptions`] does not
/// know these options, because `conformance run` has it without them.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Local run options")]
pub(crate) struct LocalRunArgs {
    /// Run on this machine: plugins become processes
    #[arg(long, conflicts_with_all = ["manifest", "retrieve"])]
    pub(crate) local: bool,
    /// Run this command on this machine, and detect and read the results it writes. Put options of
    /// plumbline before `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["plugins", "resume", "manifest", "require_signed", "locked"])]
    pub(crate) command: Vec<String>,
    /// Format of the results of COMMAND [default: detected]
    #[arg(long, alias = "format", value_name = "FORMAT", requires = "local")]
    pub(crate) result_format: Option<String>,
    /// Name of the plugin that runs COMMAND [default: the name of its program]
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) name: Option<String>,
    /// Continue an interrupted local run: its id, the first characters of it, or its working
    /// directory; without a value, the newest unfinished run
    #[arg(long = "continue", value_name = "RUN|DIR", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["plugins", "timeout", "dry_run", "manifest", "require_signed", "locked"])]
    pub(crate) resume: Option<String>,
}

impl LocalRunArgs {
    /// The format of the command's results; `None` to detect it.
    pub(crate) fn result_format(&self) -> Option<&str> {
        self.result_format.as_deref().filter(|_| !self.command.is_empty())
    }

    /// The format of the outcome. Without a command, `--format` is an earlier name of `--output`.
    pub(super) fn output_format(&self, given: Option<RunFormat>) -> Result<Option<RunFormat>, AppError> {
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
pub(crate) struct RunOptions {
    /// A plugin: the name of a built-in or installed one, a definition or packed bundle (file or
    /// URL), a directory, or `-` for standard input. `FILE@NAME` names the plugin NAME; repeatable
    #[arg(short, long = "plugin", value_name = "NAME|FILE|DIR|URL")]
    pub(crate) plugins: Vec<String>,
    /// Time limit of plugins whose definition has none, such as `90m`; `0` for no limit [default:
    /// 6h]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    /// Directory for the archive [default: the current directory, or that of the run to continue]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Print the outcome in this format on standard output
    #[arg(short = 'o', long = "output", alias = "output-format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
    /// What to show while waiting
    #[arg(long, value_enum, ignore_case = true, default_value_t = WaitOutput::Progress, value_name = "KIND")]
    pub(crate) wait_output: WaitOutput,
    #[command(flatten)]
    pub(crate) requirements: Requirements,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
    /// Sign a statement about the results with this private key, next to the archive
    /// (docs/attestations.md); in a cluster, with `--retrieve`
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
    /// Check everything, print what would run or be created, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Create the objects of this manifest (`-`: standard input) instead of generating one
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["plugins", "require_signed", "locked"])]
    pub(crate) manifest: Option<PathBuf>,
    /// Wait for the run to finish, at most this long; without a value, 24h; `0` does not wait. On a
    /// terminal, `run` waits by default
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = DAY, value_parser = parse_duration)]
    pub(crate) wait: Option<Duration>,
    /// Download the archive when the run finishes
    #[arg(long)]
    pub(crate) retrieve: bool,
    /// Skip preflight checks: `true` for all, or names (`dnscheck`, `versioncheck`,
    /// `existingnamespace`, `permissions`)
    #[arg(long, value_name = "CHECKS", num_args = 0..=1, require_equals = true, default_missing_value = "true", value_delimiter = ',')]
    pub(crate) skip_preflight: Vec<SkipPreflight>,
    /// Namespace of the cluster's DNS server
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) dns_namespace: String,
    /// Labels of the DNS server's pods; one of them is enough
    #[arg(long, value_name = "LABELS", default_value = "k8s-app=kube-dns,k8s-app=coredns", value_delimiter = ',')]
    pub(crate) dns_pod_labels: Vec<String>,
    #[command(flatten)]
    pub(crate) cluster_run: ClusterRunOptions,
    #[command(flatten)]
    pub(crate) suite: SuiteOptions,
    #[command(flatten)]
    pub(crate) judge: JudgeOptions,
    #[command(flatten)]
    pub(crate) retention: Retention,
    /// The profile of the first plugin; only `conformance run` has one.
    #[arg(skip)]
    pub(crate) profile: Option<ProfileRun>,
}

impl RunOptions {
    /// The directory for the archive.
    pub(crate) fn archive_dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref().or(self.retention.history.as_ref())
    }

    /// How long plugins took in an earlier run that an option names, if the view shows estimates.
    pub(super) fn earlier(&self) -> EarlierRun {
        let archives = [&self.judge.baseline, &self.retention.history].into_iter().flatten();
        let mut known = archives.filter(|_| has_estimates(self.wait_output)).map(|archive| earlier_run(archive));
        known.find(|earlier| !earlier.is_empty()).unwrap_or_default()
    }

    /// Whether someone waits or watches. `sonobuoy run` returns at once, on a terminal too.
    pub(super) fn follows(&self) -> Result<Follow, AppError> {
        if self.retention.history.is_some() && !self.retrieve {
            return Err(AppError::usage("`--history` needs the archive on this machine, but it stays in the cluster")
                .hint("add `--retrieve`, which downloads it when the run finishes"));
        }
        let watched = || std::io::stderr().is_terminal() && Name::current() == Name::Plumbline;
        match (self.wait, self.retrieve) {
            (Some(Duration::ZERO), true) => {
                Err(AppError::usage("`--retrieve` waits until the run finishes, but `--wait=0` does not wait")
                    .hint("remove one of them"))
            }
            (Some(Duration::ZERO), false) => Ok(Follow::No),
            (Some(limit), _) => Ok(Follow::UntilEnd(Some(limit))),
            (None, true) => Ok(Follow::UntilEnd(None)),
            (None, false) => Ok(if watched() { Follow::UntilEnd(None) } else { Follow::No }),
        }
    }

    /// Whether the run is followed, for commands that download its archive. Without a time limit by
    /// default, because each plugin has one. `submitted` if they also submit files of the archive.
    pub(crate) fn follows_to_end(&self, submitted: bool) -> Result<Follow, AppError> {
        match self.wait {
            Some(Duration::ZERO) if submitted => Err(AppError::usage(
                "`--submission-dir` needs the archive of the run, but `--wait=0` does not wait for it",
            )
            .hint("remove `--wait=0`, or run `plumbline conformance submission assemble` when the run has finished")),
            Some(Duration::ZERO) => Ok(Follow::No),
            limit => Ok(Follow::UntilEnd(limit)),
        }
    }
}

/// Whether the run is followed after its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Not at all.
    No,
    /// Until it ends, or at most this long.
    UntilEnd(Option<Duration>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SkipPreflight {
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
                let known: Vec<_> = Check::ALL.iter().map(|check| format!("`{}`", check.name())).collect();
                format!("unknown check: expected {}, or `true` for all", known.join(", "))
            }),
        }
    }
}
