//! `plumbline plugin check`

use std::path::PathBuf;

use crate::args::{LimitsArg, RunFormat};

/// `plumbline plugin check`
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// A definition, a module (`NAME.wasm`), the directory of a project or bundle, or a packed bundle
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// Print the findings as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}
