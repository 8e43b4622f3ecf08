//! `plumbline plugin list`

use super::DataFormat;

/// `plumbline plugin list`
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// How the list is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
