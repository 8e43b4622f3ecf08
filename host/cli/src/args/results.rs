//! `plumbline results`

use std::path::PathBuf;

use clap::ValueEnum;

use super::{JudgeArgs, LimitsArg};

/// Show what is in an archive, or compute it anew.
#[derive(Debug, clap::Args)]
pub(crate) struct ResultsArgs {
    /// An archive (`.tar.gz`), or a directory with the content of one
    #[arg(value_name = "ARCHIVE|DIR")]
    pub(crate) archive: PathBuf,
    /// Only this plugin; `sonobuoy` stands for the cluster's health
    #[arg(short, long)]
    pub(crate) plugin: Option<String>,
    /// What is shown
    #[arg(short, long, value_enum, ignore_case = true, default_value_t = Mode::Report)]
    pub(crate) mode: Mode,
    /// Begin at the first item of this name, at any level
    #[arg(short, long)]
    pub(crate) node: Option<String>,
    /// With `--mode detailed`: the content of files only, without the path of their items
    #[arg(short, long)]
    pub(crate) skip_prefix: bool,
    /// Print the trees as data instead
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT", conflicts_with_all = ["mode", "skip_prefix"])]
    pub(crate) format: Option<ResultsFormat>,
    /// Compute the trees anew from the archive's files, with the modules of this version
    #[arg(long)]
    pub(crate) reprocess: bool,
    /// With `--reprocess` and `--plugin`: a definition in place of the archive's
    #[arg(long, value_name = "FILE", requires = "reprocess", requires = "plugin")]
    pub(crate) definition: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    #[command(flatten)]
    pub(crate) judge: JudgeArgs,
}

/// What is shown of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Counts and the names of what failed
    Report,
    /// Every leaf, one JSON object per line; files as they are
    Detailed,
    /// The result tree as it stands in the archive
    Dump,
    /// The result tree, with line breaks and tabs in texts shown as such
    Readable,
}

/// Data formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultsFormat {
    /// JSON: an array of trees
    Json,
    /// YAML: one document per tree
    Yaml,
    /// JUnit XML
    Junit,
    /// Markdown, for a job summary or a comment
    Markdown,
}
