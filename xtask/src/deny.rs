//! Checks the dependency rules of `deny.toml` with cargo-deny.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;
use crate::lock::Lock;
use crate::paths::{self, Workspace};
use crate::process;
use crate::report::say;
use crate::steps::Outcome;

/// The version to build if none is installed: the newest at the time of writing. An unoptimized
/// build takes a minute on two cores. It then checks our dependencies in two seconds instead of
/// one.
const VERSION: &str = "0.20.2";
const PROGRAM: &str = "cargo-deny";
/// Timeout in seconds for downloading the advisory database, which is a few MiB. Without it, a
/// network that drops packets silently would block for minutes.
const FETCH_SECONDS: &str = "60";

/// An executable cargo-deny.
#[derive(Debug)]
pub(crate) struct Deny {
    program: PathBuf,
}

impl Deny {
    /// Returns the cargo-deny on the path, or else the one in the cache, which is built if missing.
    pub(crate) fn ensure() -> Result<Self, Error> {
        let deny = match on_path() {
            Some(program) => Self { program },
            None => Self { program: in_cache()? },
        };
        let version = process::output(Command::new(&deny.program).arg("--version"))?;
        say(format_args!("dependency rules are checked by {} ({})", version.trim(), deny.program.display()));
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
        process::run_talkative(&mut command)?;
        Ok(Outcome::Passed)
    }
}

fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(PROGRAM)).find(|program| program.is_file())
}

fn in_cache() -> Result<PathBuf, Error> {
    let tools = paths::cache()?.join("tools");
    let root = tools.join(format!("{PROGRAM}-{VERSION}"));
    let program = root.join("bin").join(PROGRAM);
    if !program.is_file() {
        let _lock = Lock::take(&tools)?;
        if !program.is_file() {
            install(&tools, &root)?;
        }
    }
    Ok(program)
}

/// Installs cargo-deny. `cargo install` puts the finished program in place atomically.
fn install(tools: &Path, root: &Path) -> Result<(), Error> {
    say(format_args!(
        "{PROGRAM} is not installed; building {PROGRAM} {VERSION} from crates.io into {}",
        root.display()
    ));
    let target = tools.join("build");
    fs::create_dir_all(&target).map_err(Error::io("create", &target))?;
    let mut cargo = process::cargo(tools);
    cargo
        .args(["install", "--quiet", "--locked", PROGRAM, "--version", VERSION, "--profile", "dev", "--root"])
        .arg(root);
    cargo.arg("--target-dir").arg(&target);
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let installed = process::run_talkative(&mut cargo);
    fs::remove_dir_all(&target).map_err(Error::io("remove", &target))?;
    installed
}
