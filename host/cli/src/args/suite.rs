//! Arguments about the conformance suite: how it runs, its modes, and its tests.

use std::path::PathBuf;

use clap::ValueEnum;
use plumbline_conformance::suite::Mode;

use super::{DataFormat, RegistryArgs};

/// Under which heading these options stand.
const HEADING: &str = "Options of the plugin e2e";

/// The names of modes, for help texts and completions.
const MODES: &str = "`certified-conformance`, `conformance-lite`, `non-disruptive-conformance` or `quick`";

/// How often failed tests are run again at most: what fails so often fails.
const MAX_RETRIES: i64 = 5;

/// What the suite is told.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct SuiteArgs {
    #[arg(short, long, value_name = "MODE", help = format!("Which tests are run: {MODES} (`plumbline modes` explains them); without it, as the definition says, which is `{}`", Mode::default()))]
    pub(crate) mode: Option<Mode>,
    /// Run the tests whose names this expression finds, as Go writes expressions; over the mode's
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub(crate) e2e_focus: Option<String>,
    /// Leave out those of them whose names this expression finds; over the mode's; empty: none
    #[arg(long, value_name = "REGEX", conflicts_with_all = ["mode", "rerun_failed"])]
    pub(crate) e2e_skip: Option<String>,
    /// Whether tests run side by side
    #[arg(long, value_name = "true|false", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) e2e_parallel: Option<bool>,
    /// Run the tests that failed in this archive, and no others
    #[arg(long, value_name = "ARCHIVE", conflicts_with = "mode")]
    pub(crate) rerun_failed: Option<PathBuf>,
    /// Run failed tests again in the same run, up to so many times (5 at most); both outcomes are recorded
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = clap::value_parser!(u32).range(0..=MAX_RETRIES))]
    pub(crate) retry_failed: u32,
    /// Choose and report tests, and run none
    #[arg(long)]
    pub(crate) e2e_dry_run: bool,
    /// A registry in place of all that images of tests come from
    #[arg(long, value_name = "REGISTRY", conflicts_with = "e2e_repo_config")]
    pub(crate) e2e_repo: Option<String>,
    /// A YAML file that says which registry stands for which (`KUBE_TEST_REPO_LIST`)
    #[arg(long, value_name = "FILE")]
    pub(crate) e2e_repo_config: Option<PathBuf>,
    /// Credentials for registries, as docker writes them: for pods of the run, and for tests that pull images (Kubernetes 1.27 and later)
    #[arg(long, value_name = "FILE")]
    pub(crate) e2e_docker_config_file: Option<PathBuf>,
    /// Arguments for the program of the suite, behind those that it gets anyway; repeatable
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    pub(crate) e2e_extra_args: Vec<String>,
    /// A private key for tests that log in to nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key: Option<PathBuf>,
    /// As whom they log in
    #[arg(long, value_name = "NAME")]
    pub(crate) ssh_user: Option<String>,
    /// Names of tests, one gzip-compressed list for each version, to check focus and skip against: a directory or an address
    #[arg(long, value_name = "DIR|URL")]
    pub(crate) e2e_lists: Option<String>,
    /// The image of the suite, instead of the one for the cluster's version
    #[arg(long, value_name = "IMAGE")]
    pub(crate) kube_conformance_image: Option<String>,
    /// The image of the plugin systemd-logs, which runs the command of its definition
    #[arg(long, value_name = "IMAGE")]
    pub(crate) systemd_logs_image: Option<String>,
    /// Whether the results are to be submitted, which is an option of one command alone.
    #[arg(skip)]
    pub(crate) submitted: Option<Submitted>,
}

/// How results are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Submitted {
    /// Somebody says which tests that requires.
    pub(crate) required: bool,
}

impl SuiteArgs {
    /// The first option that was given and means the plugin e2e, as it is written.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            (self.submitted.is_some(), "--submission-dir"),
            (self.mode.is_some(), "--mode"),
            (self.e2e_focus.is_some(), "--e2e-focus"),
            (self.e2e_skip.is_some(), "--e2e-skip"),
            (self.e2e_parallel.is_some(), "--e2e-parallel"),
            (self.rerun_failed.is_some(), "--rerun-failed"),
            (self.retry_failed > 0, "--retry-failed"),
            (self.e2e_dry_run, "--e2e-dry-run"),
            (self.e2e_repo.is_some(), "--e2e-repo"),
            (self.e2e_repo_config.is_some(), "--e2e-repo-config"),
            (self.e2e_docker_config_file.is_some(), "--e2e-docker-config-file"),
            (!self.e2e_extra_args.is_empty(), "--e2e-extra-args"),
            (self.ssh_key.is_some(), "--ssh-key"),
            (self.ssh_user.is_some(), "--ssh-user"),
            (self.e2e_lists.is_some(), "--e2e-lists"),
            (self.kube_conformance_image.is_some(), "--kube-conformance-image"),
        ];
        all.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// Whether tests are chosen by anything but the definition.
    pub(crate) fn chooses(&self) -> bool {
        self.mode.is_some() || self.e2e_focus.is_some() || self.e2e_skip.is_some() || self.rerun_failed.is_some()
    }
}

/// Where Sonobuoy's project keeps lists of tests, by version.
const ONLINE: &str = "https://raw.githubusercontent.com/vmware-tanzu/sonobuoy/main/cmd/sonobuoy/app/e2e/testLists";

/// List the tests of the suite, and what a focus selects of them.
#[derive(Debug, clap::Args)]
pub(crate) struct E2eArgs {
    /// Only tests that this regular expression of Go's matches
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) focus: Option<String>,
    /// No tests that this one matches
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) skip: Option<String>,
    /// What is printed
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = E2eMode::Tests)]
    pub(crate) mode: E2eMode,
    /// The version of Kubernetes, such as `v1.30.2`; `auto` asks the cluster; without it, the latest that is known
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<String>,
    /// Where the names are from: `offline` (lists in this program), `online` (those of Sonobuoy's project), `-` (standard input), a list, a directory of lists
    /// `VERSION.gz`, the address of either, an archive, or `image[:REFERENCE]` (the suite's program out of its image, run on this machine)
    #[arg(short, long, value_name = "SOURCE", default_value = "offline")]
    pub(crate) input: String,
    /// Print data instead
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<E2eFormat>,
    /// With `--version auto`: the kubeconfig file; without it, `$KUBECONFIG`, `~/.kube/config`, or the service account of this pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// With `--version auto`: the context in the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Where `--input online` looks
    #[arg(long, hide = true, value_name = "ADDRESS", default_value = ONLINE)]
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

/// What is printed of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "camelCase")]
pub(crate) enum E2eMode {
    /// Their names
    Tests,
    /// The words in brackets in their names, each once
    Tags,
    /// The same, and how often there is each
    TagCounts,
}

/// Data formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum E2eFormat {
    /// One JSON object
    Json,
}

/// Print the modes of the suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ModesArgs {
    /// Also what each of them sets
    #[arg(long)]
    pub(crate) verbose: bool,
    /// How they are printed; data has always all of them
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
