//! `plumbline modes`

use super::DataFormat;

/// Print the modes of the suite.
#[derive(Debug, clap::Args)]
pub(crate) struct ModesArgs {
    /// Also what each of them sets
    #[arg(long)]
    pub(crate) verbose: bool,
    /// How they are printed; data has always all of them
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
