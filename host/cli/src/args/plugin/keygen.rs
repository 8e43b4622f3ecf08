//! `plumbline plugin keygen`

use std::path::PathBuf;

use crate::args::RunFormat;

/// `plumbline plugin keygen`
#[derive(Debug, clap::Args)]
pub(crate) struct KeygenArgs {
    /// The pair becomes `NAME.key` (keep it secret) and `NAME.pub` (give it to those who verify)
    #[arg(long, value_name = "NAME")]
    pub(crate) out: PathBuf,
    /// Replace keys that are there: what they have signed stays signed, and nothing new can be
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}
