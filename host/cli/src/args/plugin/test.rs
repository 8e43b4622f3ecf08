//! `plumbline plugin test`

use std::path::PathBuf;

use crate::args::{DataFormat, LimitsArg};

/// `plumbline plugin test`
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// The plugin's directory: `plugin.yaml`, its modules beside it, its cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Cases, by the names of their directories below `tests/`; without any, all
    #[arg(value_name = "CASE")]
    pub(crate) cases: Vec<String>,
    /// What comes out is right: write it to `expected.yaml`
    #[arg(long)]
    pub(crate) bless: bool,
    /// Try the module with this many damaged inputs, made of the cases' files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) fuzz: Option<u64>,
    /// Which damaged inputs: the same number gives the same ones
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "fuzz")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// How the report is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}
