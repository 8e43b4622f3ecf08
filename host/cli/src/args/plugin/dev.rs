//! `plumbline plugin dev`

use std::path::PathBuf;

use crate::args::LimitsArg;

/// `plumbline plugin dev`
#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// The plugin's directory: `plugin.yaml`, `module.yaml`, sources, cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}
