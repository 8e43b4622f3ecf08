//! Arguments of the commands with which plugins are written: `new`, `build`, `check`, `test`, `dev`, `postprocess`, `inspect`.

use std::path::PathBuf;
use std::time::Duration;

use plumbline_author::Language;
use plumbline_core::Driver;
use plumbline_core::duration::parse_duration;

use crate::args::{DataFormat, LimitsArg, RegistryArgs, RunFormat};

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

/// `plumbline plugin build`
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// The project: a directory with `module.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Print what was built as data
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

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

/// `plumbline plugin dev`
#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// The plugin's directory: `plugin.yaml`, `module.yaml`, sources, cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

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

/// `plumbline plugin inspect`
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// A module (`FILE.wasm`), a plugin's directory, a packed bundle (`NAME.bundle.tar`), the name of an installed bundle,
    /// or a reference `oci://…`
    #[arg(value_name = "MODULE|DIR|BUNDLE|NAME|OCI")]
    pub(crate) what: String,
    /// How it is printed
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
