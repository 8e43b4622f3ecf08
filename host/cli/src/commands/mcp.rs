//! `plumbline mcp`

use std::path::PathBuf;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::mcp::serve;
use plumbline_app::modules::LimitsFile;

use crate::args::shared::{RegistryArgs, context};

const CODES: &str = "\
Exit codes:
  0  the client closed the connection
  2  the command line is invalid, or a path cannot be read
  4  the connection failed";

#[derive(Debug, clap::Args)]
#[command(after_help = CODES)]
pub(crate) struct McpArgs {
    /// An archive of a run, an unpacked archive, or a directory with archives; repeatable
    #[arg(value_name = "ARCHIVE|DIR", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitsFile,
}

/// Serves archives on standard input and output, until the client closes them.
pub(crate) fn mcp(args: &McpArgs) -> Result<ExitCode, AppError> {
    serve(&context(&RegistryArgs::default()), &args.paths, &args.limits)?;
    Ok(ExitCode::SUCCESS)
}
