//! `cargo xtask check`: all checks except the tests.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::deny::Deny;
use crate::error::Error;
use crate::paths::Workspace;
use crate::report;
use crate::steps::{Outcome, Steps};
use crate::target_std::TargetStd;
use crate::{book, fuzz, modules, process, profile_names, prose, tasks};

/// The toolchain components that may be missing: the cargo subcommand and the component.
const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// Runs all checks, and stops at the first one that fails.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Error> {
    let root = workspace.root();
    let locked = |subcommand| process::cargo_locked(root, subcommand);
    let mut steps = Steps::default();
    steps.step("tools", || components(root))?;
    // `cargo fmt` does not support `--locked`.
    steps.step("format", || passes(process::cargo(root).args(["fmt", "--all", "--check"])))?;
    steps.step("prose", || prose::check(workspace))?;
    steps.step("names of profiles", || profile_names::check(workspace))?;
    steps.step("book", || book::check(workspace))?;
    let mut std = None;
    steps.step("set-up", || {
        std = Some(tasks::setup(workspace)?);
        Ok(Outcome::Passed)
    })?;
    steps.step("lints", || passes(locked("clippy").args(["--workspace", "--all-targets", "--", "-D", "warnings"])))?;
    steps.step("lints of modules", || lint_modules(workspace, std.as_ref()))?;
    steps.step("lints of fuzz targets", || passes(&mut fuzz::lint(workspace)?))?;
    steps.step("documentation", || {
        passes(locked("doc").args(["--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    let mut tool = None;
    steps.step("dependency rules", || tool.insert(Deny::ensure()?).rules(workspace))?;
    if let Some(tool) = &tool {
        steps.step("advisories", || tool.advisories(workspace))?;
    }
    steps.step("unchanged files", || unchanged(root))?;
    report::line(format_args!("\n{}", steps.table()));
    Ok(())
}

/// Runs a command that checks something.
fn passes(command: &mut Command) -> Result<Outcome, Error> {
    process::run(command)?;
    Ok(Outcome::Passed)
}

/// Reports missing components before the other checks spend minutes.
fn components(root: &Path) -> Result<Outcome, Error> {
    for (subcommand, component) in COMPONENTS {
        process::output(process::cargo(root).args([subcommand, "--version"])).map_err(|error| Error::Missing {
            what: format!("`cargo {subcommand}` ({})", error.to_string().lines().next().unwrap_or_default()),
            install: format!("`rustup component add {component}` installs it"),
        })?;
    }
    Ok(Outcome::Passed)
}

/// Lints the modules' code for WebAssembly, which a lint run for this machine does not include.
fn lint_modules(workspace: &Workspace, std: Option<&TargetStd>) -> Result<Outcome, Error> {
    let Some(std) = std.filter(|std| std.has_own_compiler()) else {
        return Ok(Outcome::Skipped("modules are compiled by another compiler than clippy's".to_owned()));
    };
    let mut cargo = process::cargo_locked(workspace.root(), "clippy");
    cargo.args(["--profile", "module", "--target-dir"]).arg(workspace.modules_build());
    cargo.args(modules::packages().flat_map(|package| ["-p", package]));
    std.apply(&mut cargo, workspace.root());
    passes(cargo.args(["--", "-D", "warnings"]))
}

/// Checks that generated files (lock files, snapshots) are committed in their current form. This
/// only runs in CI, because elsewhere a difference may be work in progress.
fn unchanged(root: &Path) -> Result<Outcome, Error> {
    if !is_set(env::var_os("CI").as_deref()) {
        return Ok(Outcome::Skipped("CI is not set: changes may be work in progress".to_owned()));
    }
    if !root.join(".git").exists() {
        return Ok(Outcome::Skipped("this is not a Git checkout".to_owned()));
    }
    differences(root)
}

fn differences(root: &Path) -> Result<Outcome, Error> {
    let changed = process::output(git(root).args(["status", "--porcelain"]))?;
    if changed.is_empty() {
        return Ok(Outcome::Passed);
    }
    process::run_with_output(git(root).args(["--no-pager", "diff"]))?;
    Err(Error::unexpected(format!("these files are not as they were committed:\n{}", changed.trim_end())))
}

/// Returns a git command for this checkout. On a build machine the checkout may belong to another
/// user, which git would reject by default.
fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(root).arg("-c").arg(format!("safe.directory={}", root.display()));
    command
}

/// Returns whether a variable such as `CI` is set to a true value.
fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !["", "0", "false"].map(OsStr::new).contains(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_can_be_denied() {
        assert!(is_set(Some(OsStr::new("true"))) && is_set(Some(OsStr::new("1"))));
        assert!(!is_set(None) && !is_set(Some(OsStr::new("false"))) && !is_set(Some(OsStr::new(""))));
    }

    #[test]
    fn a_changed_and_a_new_file_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let run = |args: &[&str]| process::output(git(root).args(args)).unwrap();
        run(&["init", "--quiet"]);
        std::fs::write(root.join("kept"), "as it was").unwrap();
        run(&["add", "kept"]);
        run(&["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "first"]);
        assert_eq!(differences(root).unwrap(), Outcome::Passed);

        std::fs::write(root.join("kept"), "otherwise").unwrap();
        std::fs::write(root.join("new"), "").unwrap();
        let error = differences(root).unwrap_err().to_string();
        assert!(error.contains("M kept") && error.contains("?? new"), "{error}");
    }
}
