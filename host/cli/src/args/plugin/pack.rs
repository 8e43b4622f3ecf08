//! `plumbline plugin pack`

use std::path::PathBuf;

/// `plumbline plugin pack`
#[derive(Debug, clap::Args)]
pub(crate) struct PackArgs {
    /// The plugin's directory, with `plugin.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The tar to write, `-` for standard output; without it, `NAME.bundle.tar` in the current directory
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print digest, size and files as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
