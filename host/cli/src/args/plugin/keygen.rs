//! `plumbline plugin keygen`

use std::path::PathBuf;

use super::DataFormat;

/// `plumbline plugin keygen`
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// The pair becomes `NAME.key` (keep it secret) and `NAME.pub` (give it to those who verify)
    #[arg(long, value_name = "NAME")]
    pub(crate) out: PathBuf,
    /// Replace keys that are there: what they have signed stays signed, and nothing new can be
    #[arg(long)]
    pub(crate) force: bool,
    /// How the result is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
