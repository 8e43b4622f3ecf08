//! `plumbline plugin test`

use std::path::PathBuf;
use std::time::Duration;

use plumbline_core::duration::parse_duration;

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
    /// As `--bless`, also for cases in which a module returns an error
    #[arg(long)]
    pub(crate) bless_errors: bool,
    /// The time that a call of a module may take in a case, such as `30s` or `2m`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Test the module although its sources have changed since it was built
    #[arg(long)]
    pub(crate) allow_stale: bool,
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
