//! `plumbline plugin new`

use std::path::PathBuf;

use plumbline_author::Language;

use crate::args::RunFormat;

/// `plumbline plugin new`
#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The project's name: its plugin and its module are called so
    pub(crate) name: String,
    /// The language that the module is written in: `rust`, `go`, `javascript`, `typescript`, `python` or `c`
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// Where it goes; nothing is written over [default: ./NAME]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// The world of the contract that it is built for: `judge-module` begins a judge [default: post-processor-module]
    #[arg(long)]
    pub(crate) world: Option<String>,
    /// Print what was written as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}
