//! `plumbline e2e`

use std::path::PathBuf;

use clap::ValueEnum;

use super::RegistryArgs;

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
