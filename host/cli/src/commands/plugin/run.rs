//! `plumbline plugin run`

use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::run_check::{CheckOptions, run_here};

use crate::args::global::Global;
use crate::args::shared::{EXIT_CODES, RegistryArgs, RunFormat, context};
use crate::commands::plugin::author::print_tree;

#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) options: CheckOptions,
    /// Print the tree in this format
    #[arg(short = 'o', long = "output", alias = "format", value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) format: RunFormat,
}

/// Runs a check on this machine and prints the tree.
pub(crate) fn run(args: &RunArgs, global: &Global) -> Result<ExitCode, AppError> {
    let processed = run_here(&context(&RegistryArgs::default()), &args.options)?;
    print_tree(&processed, args.format, global)
}
