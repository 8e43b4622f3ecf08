//! `plumbline plugin build`

use std::path::PathBuf;

use crate::args::RunFormat;

/// `plumbline plugin build`
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// The project: a directory with `module.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Print what was built as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}
