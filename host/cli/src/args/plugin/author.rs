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
    /// The name of the project, of its plugin and of its module
    pub(crate) name: String,
    /// Language of the module: `rust`, `go`, `javascript`, `typescript`, `python` or `c`
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Language,
    /// Directory to create; existing files are never overwritten [default: ./NAME]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// World of the contract to implement; `judge-module` starts a judge [default:
    /// post-processor-module]
    #[arg(long)]
    pub(crate) world: Option<String>,
    /// Print the list of created files in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

/// `plumbline plugin build`
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// Directory of the project, with `module.yaml`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Print what was built in this format
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
    /// Print the findings in this format
    #[arg(short = 'o', long = "format", value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

/// `plumbline plugin test`
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Directory of the plugin: `plugin.yaml`, its modules, and its cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Names of the cases to run (directories in `tests/`) [default: all]
    #[arg(value_name = "CASE")]
    pub(crate) cases: Vec<String>,
    /// Accept the current output: write it to `expected.yaml`
    #[arg(long)]
    pub(crate) bless: bool,
    /// Like `--bless`, and also accept cases in which a module returns an error
    #[arg(long)]
    pub(crate) bless_errors: bool,
    /// Time limit for each call of a module, such as `30s` or `2m`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Test the module even if its sources have changed since it was built
    #[arg(long)]
    pub(crate) allow_stale: bool,
    /// Also call the module with N damaged inputs, derived from the files of the cases
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) fuzz: Option<u64>,
    /// Seed for `--fuzz`; the same seed gives the same inputs
    #[arg(long, value_name = "SEED", default_value_t = 0, requires = "fuzz")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// Print the report in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
}

/// `plumbline plugin dev`
#[derive(Debug, clap::Args)]
pub(crate) struct DevArgs {
    /// Directory of the plugin: `plugin.yaml`, `module.yaml`, sources, and cases in `tests/`
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
}

/// `plumbline plugin process`
#[derive(Debug, clap::Args)]
pub(crate) struct ProcessArgs {
    /// Directory with `results/` and `errors/`, as in an archive
    pub(crate) dir: PathBuf,
    /// The definition, or a directory with `plugin.yaml`; modules in the same directory
    /// (`NAME.wasm`) take precedence over built-in ones
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) definition: Option<PathBuf>,
    /// Name of the plugin, overriding the definition
    #[arg(long, required_unless_present = "definition")]
    pub(crate) name: Option<String>,
    /// Driver, overriding the definition: `Job`, `DaemonSet` or `Process`
    #[arg(long)]
    pub(crate) driver: Option<Driver>,
    /// Result format, overriding the definition
    #[arg(long)]
    pub(crate) result_format: Option<String>,
    /// Base names of the files to read, overriding the definition
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) result_files: Vec<String>,
    /// Read the results with this module, whatever the format
    #[arg(long, value_name = "FILE.wasm")]
    pub(crate) module: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsArg,
    /// Print the tree in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

/// `plumbline plugin inspect`
#[derive(Debug, clap::Args)]
pub(crate) struct InspectArgs {
    /// A module (`FILE.wasm`), the directory of a plugin, a packed bundle (`NAME.bundle.tar`), the
    /// name of an installed bundle, or `oci://HOST[:PORT]/NAME[:TAG]`
    #[arg(value_name = "MODULE|DIR|BUNDLE|NAME|OCI")]
    pub(crate) what: String,
    /// Print the description in this format
    #[arg(short = 'o', long = "format", value_enum, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: DataFormat,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}
