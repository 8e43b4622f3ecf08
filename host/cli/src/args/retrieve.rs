//! `plumbline retrieve`, and what it calls in the aggregator's pod

use std::path::PathBuf;

use plumbline_kubernetes::names;

use super::ClusterArgs;
use super::minutes::Minutes;

/// Bring the archive of a run home from the cluster.
#[derive(Debug, clap::Args)]
pub(crate) struct RetrieveArgs {
    /// The directory to write to
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Unpack the archive into the directory, and keep only what was in it
    #[arg(short = 'x', long)]
    pub(crate) extract: bool,
    /// The name to give the archive, without directories; further archives are numbered
    #[arg(short = 'f', long = "filename", value_name = "NAME", value_parser = plain_name)]
    pub(crate) file_name: Option<String>,
    /// The directory of the archive in the aggregator's pod
    #[arg(long, value_name = "DIR", default_value = names::AGGREGATOR_DIR)]
    pub(crate) retrieve_path: String,
    /// Wait until the run is complete: at most so many minutes, or a duration such as `90s`; a day if nothing is said
    #[arg(long, value_name = "MIN", num_args = 0..=1, require_equals = true, default_missing_value = "1440")]
    pub(crate) wait: Option<Minutes>,
    /// Take what the run has gathered so far
    #[arg(long, conflicts_with = "wait")]
    pub(crate) partial: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

fn plain_name(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "." || text == ".." || text.contains(['/', '\\', '\0']) {
        return Err("a file name without directories is needed: the directory is an argument of its own".to_owned());
    }
    Ok(text.to_owned())
}

/// Write the finished archives of a directory onto standard output, as one stream.
#[derive(Debug, clap::Args)]
pub(crate) struct SplatArgs {
    /// The directory
    pub(crate) dir: PathBuf,
}

/// List the finished archives of a directory, or write a piece of one onto standard output.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["list", "snapshot", "name"]))]
pub(crate) struct PieceArgs {
    /// The directory
    pub(crate) dir: PathBuf,
    /// List the finished archives as JSON
    #[arg(long)]
    pub(crate) list: bool,
    /// Pack what the run under way has gathered so far
    #[arg(long)]
    pub(crate) snapshot: bool,
    /// The archive
    #[arg(long, requires_all = ["offset", "length"])]
    pub(crate) name: Option<String>,
    /// The first byte
    #[arg(long, requires = "name")]
    pub(crate) offset: Option<u64>,
    /// How many bytes
    #[arg(long, requires = "name")]
    pub(crate) length: Option<u64>,
}
