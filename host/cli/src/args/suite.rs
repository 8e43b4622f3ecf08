//! Arguments about the conformance suite: how it runs, its modes, and its tests.

use std::path::PathBuf;

use clap::ValueEnum;
use plumbline_app::suite::{Submitted, SuiteOptions};
use plumbline_conformance::suite::Mode;

use super::{DataFormat, RegistryArgs};

/// Heading of these options in `--help`.
const HEADING: &str = "Conformance suite options";

/// The names of modes, for help texts and completions.
const MODES: &str = "`certified-conformance`, `conformance-lite`, `non-disruptive-conformance` or `quick`";

/// The most retries of failed tests: a test that fails so often fails.
const MAX_RETRIES: i64 = 5;

/// Settings of the conformance suite.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct SuiteArgs {
    #[arg(short, long, value_name = "MODE", help = format!("Select tests: {MODES}; `plumbline modes` describes them [default: that of the definition, `{}`]", Mode::default()))]
    pub(crate) mode: Option<Mode>,
    /// Run the tests whose names match this Go regular expression; overrides the mode
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub(crate) e2e_focus: Option<String>,
    /// Skip the tests whose names match this regular expression; overrides the mode; empty skips
    /// none
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub(crate) e2e_skip: Option<String>,
    /// Run tests in parallel
    #[arg(long, value_name = "true|false", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) e2e_parallel: Option<bool>,
    /// Run only the tests that failed in this archive
    #[arg(long, value_name = "ARCHIVE", conflicts_with = "mode")]
    pub(crate) rerun_failed: Option<PathBuf>,
    /// Retry failed tests in the same run up to N times (at most 5); both outcomes are recorded
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u32).range(0..=MAX_RETRIES))]
    pub(crate) retry_failed: u32,
    /// Select and report tests without running them
    #[arg(long)]
    pub(crate) e2e_dry_run: bool,
    /// Take the images of all tests from this registry
    #[arg(long, value_name = "REGISTRY", conflicts_with = "e2e_repo_config")]
    pub(crate) e2e_repo: Option<String>,
    /// YAML file that maps the registries of test images (`KUBE_TEST_REPO_LIST`)
    #[arg(long, value_name = "FILE")]
    pub(crate) e2e_repo_config: Option<PathBuf>,
    /// Docker configuration with registry credentials, for pods of the run and for tests that pull
    /// images (Kubernetes 1.27 and later)
    #[arg(long, value_name = "FILE")]
    pub(crate) e2e_docker_config_file: Option<PathBuf>,
    /// Extra arguments for the suite's program; repeatable
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) e2e_extra_args: Vec<String>,
    /// Private key for tests that log in to nodes over SSH
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key: Option<PathBuf>,
    /// User name for these logins
    #[arg(long, value_name = "NAME")]
    pub(crate) ssh_user: Option<String>,
    /// Lists of test names to check focus and skip against, one gzip file per version: a directory
    /// or a URL
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) e2e_lists: Option<String>,
    /// Image of the suite [default: the one for the cluster's version]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kube_conformance_image: Option<String>,
    /// Image of the plugin systemd-logs, which runs the command of its definition
    #[arg(long, value_name = "IMAGE")]
    pub(crate) systemd_logs_image: Option<String>,
    /// How the results are submitted; only `conformance run` has options for it.
    #[arg(skip)]
    pub(crate) submitted: Option<Submitted>,
}

impl From<&SuiteArgs> for SuiteOptions {
    fn from(args: &SuiteArgs) -> Self {
        let args = args.clone();
        Self {
            mode: args.mode,
            focus: args.e2e_focus,
            skip: args.e2e_skip,
            parallel: args.e2e_parallel,
            rerun_failed: args.rerun_failed,
            retry_failed: args.retry_failed,
            dry_run: args.e2e_dry_run,
            repo: args.e2e_repo,
            repo_config: args.e2e_repo_config,
            docker_config_file: args.e2e_docker_config_file,
            extra_args: args.e2e_extra_args,
            ssh_key: args.ssh_key,
            ssh_user: args.ssh_user,
            lists: args.e2e_lists,
            image: args.kube_conformance_image,
            systemd_logs_image: args.systemd_logs_image,
            submitted: args.submitted,
        }
    }
}

/// Where Sonobuoy's project publishes lists of tests, by version.
const ONLINE: &str = "https://raw.githubusercontent.com/vmware-tanzu/sonobuoy/main/cmd/sonobuoy/app/e2e/testLists";

/// List the tests of the suite, and which of them a focus selects.
#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Show only tests that match this Go regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) focus: Option<String>,
    /// Leave out tests that match this Go regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) skip: Option<String>,
    /// What to show
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = E2eMode::Tests)]
    pub(crate) mode: E2eMode,
    /// Version of Kubernetes, such as `v1.30.2`, or `auto` for that of the cluster [default: the
    /// newest known]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Source of the names: `offline` (built-in lists), `online` (those of Sonobuoy's project), `-`
    /// (standard input), a list, a directory of lists `VERSION.gz`, the URL of either, an archive,
    /// or `image[:REFERENCE]` (runs the suite's program from its image on this machine)
    #[arg(short, long, value_name = "SOURCE", default_value = "offline")]
    pub(crate) input: String,
    /// Print the tests in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<E2eFormat>,
    /// With `--version auto`: kubeconfig file [default: $KUBECONFIG, ~/.kube/config, or the service
    /// account of this pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// With `--version auto`: context in the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Base URL for `--input online`
    #[arg(long, hide = true, value_name = "ADDRESS", default_value = ONLINE)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// What `e2e` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum E2eMode {
    /// Names of tests
    Tests,
    /// Tags (the words in brackets) of the names, each once
    Tags,
    /// Tags, with the number of tests that have each
    TagCounts,
}

/// Data formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum E2eFormat {
    /// One JSON object
    Json,
}

/// List the modes of the suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ModesArgs {
    /// Also show the settings of each mode
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print the modes in this format; data always includes the settings
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
