//! `cargo xtask browser`: opens the HTML report in a browser, and uses everything on it.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use crate::error::Error;
use crate::paths::Workspace;
use crate::program::{self, PROGRAM};
use crate::{built, debian_tools, npm_tools, process, tasks};

/// Runs the tests, or what `args` ask for. Without a browser, prints the reason and passes.
pub(crate) fn run(workspace: &Workspace, args: &[OsString]) -> Result<ExitCode, Error> {
    let (Some(chromium), Some(node_modules)) = (debian_tools::chromium(), npm_tools::browser()) else {
        return Ok(ExitCode::SUCCESS);
    };
    tasks::setup(workspace)?;
    // Measurements are of an optimized program.
    let program = match args.iter().any(|arg| arg == "--measure") {
        true => program::build(workspace)?,
        false => built::tests(workspace)?.program(PROGRAM)?,
    };
    let mut node = Command::new("node");
    node.current_dir(workspace.root()).arg("xtask/browser/report.mjs").args(args);
    node.env("PLUMBLINE", program).env("CHROMIUM", chromium).env("NODE_MODULES", node_modules);
    Ok(ExitCode::from(process::exit_code(process::status(&mut node)?)))
}
