//! Arguments of `plumbline status`.

use clap::ValueEnum;

use crate::args::shared::EXIT_CODES;
use crate::commands::cluster::ClusterArgs;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Show a run on this machine instead of one in a cluster
    #[arg(long, conflicts_with_all = ["namespace", "kubeconfig", "context"])]
    pub(crate) local: bool,
    /// ID of the local run, or its first characters [default: the newest run]
    #[arg(requires = "local")]
    pub(crate) run: Option<String>,
    /// Print one line per expected result
    #[arg(long)]
    pub(crate) show_all: bool,
    /// Print the status annotation of the aggregator: one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print data (`json`, `yaml`), or a table with every detail (`wide`)
    #[arg(short = 'o', long = "output", alias = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "show_all"])]
    pub(crate) format: Option<StatusFormat>,
    /// Fetch every expected result of a run in a cluster, even if the annotation holds only a
    /// summary (not with `--local`)
    #[arg(long, conflicts_with = "local")]
    pub(crate) full: bool,
    /// Follow a run in a cluster until it finishes (not with `--local`): a live view on a terminal,
    /// otherwise one line per event
    #[arg(short, long, conflicts_with = "local")]
    pub(crate) watch: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatusFormat {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// One line per expected result, with heartbeats and what each waits for
    Wide,
}
