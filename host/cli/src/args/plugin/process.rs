//! `plumbline plugin process`

use std::path::PathBuf;

use plumbline_core::Driver;

use crate::args::{LimitsArg, RunFormat};

/// `plumbline plugin process`
#[derive(Debug, clap::Args)]
pub(crate) struct ProcessArgs {
    /// Directory with `results/` and `errors/` below it, as in an archive
    pub(crate) dir: PathBuf,
    /// The definition, or a directory with `plugin.yaml`; modules beside it (`NAME.wasm`) win over built-in
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) definition: Option<PathBuf>,
    /// The plugin's name, in place of the definition's
    #[arg(long, required_unless_present = "definition")]
    pub(crate) name: Option<String>,
    /// The driver, in place of the definition's: `Job`, `DaemonSet` or `Process`
    #[arg(long)]
    pub(crate) driver: Option<Driver>,
    /// The result format, in place of the definition's
    #[arg(long)]
    pub(crate) result_format: Option<String>,
    /// Base names of the files that are looked at, in place of the definition's
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) result_files: Vec<String>,
    /// A module file that reads the results, whatever its name
    #[arg(long, value_name = "FILE.wasm")]
    pub(crate) module: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// How the tree is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}
