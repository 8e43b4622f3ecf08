//! Checks the dependency rules of `deny.toml` with cargo-deny.

use std::path::PathBuf;
use std::process::Command;

use crate::cargo_tool::CargoTool;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::print_status;
use crate::steps::Outcome;

/// An unoptimized build takes a minute on two cores. It then checks our dependencies in two seconds
/// instead of one.
const TOOL: CargoTool = CargoTool { program: "cargo-deny", version: "0.20.2", features: &[] };
/// Timeout in seconds for downloading the advisory database, which is a few MiB. Without it, a
/// network that drops packets silently would block for minutes.
const FETCH_SECONDS: &str = "60";

/// An executable cargo-deny.
#[derive(Debug)]
pub(crate) struct Deny {
    program: PathBuf,
}

impl Deny {
    /// Returns cargo-deny, which is built if it is missing.
    pub(crate) fn ensure() -> Result<Self, Error> {
        let deny = Self { program: TOOL.ensure()? };
        let version = process::output(Command::new(&deny.program).arg("--version"))?;
        print_status(format_args!("dependency rules are checked by {} ({})", version.trim(), deny.program.display()));
        Ok(deny)
    }

    /// Checks licenses, bans and sources.
    pub(crate) fn rules(&self, workspace: &Workspace) -> Result<Outcome, Error> {
        self.check(workspace, &["licenses", "bans", "sources"])
    }

    /// Checks for known vulnerabilities of dependencies. The check is skipped if the database is
    /// unreachable, because that says nothing about the dependencies.
    pub(crate) fn advisories(&self, workspace: &Workspace) -> Result<Outcome, Error> {
        let mut fetch = Command::new("timeout");
        fetch.args(["--kill-after=5", FETCH_SECONDS]).arg(&self.program).args(["--locked", "fetch", "db"]);
        fetch.current_dir(workspace.root()).env("GIT_TERMINAL_PROMPT", "0");
        match process::output(&mut fetch) {
            Ok(_) => self.check(workspace, &["advisories"]),
            Err(Error::Failed { output, .. }) => {
                let reason = output.lines().find(|line| line.contains("fatal:")).unwrap_or_default().trim();
                Ok(Outcome::Skipped(format!("advisory database is not reachable; {reason}")))
            }
            Err(error) => Err(error),
        }
    }

    fn check(&self, workspace: &Workspace, checks: &[&str]) -> Result<Outcome, Error> {
        let mut command = Command::new(&self.program);
        command.current_dir(workspace.root()).args(["--locked", "check"]).args(checks);
        process::run_with_output(&mut command)?;
        Ok(Outcome::Passed)
    }
}
