//! `cargo xtask fuzz`: generated input for everything that reads foreign bytes, with cargo-fuzz.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::say;

/// Coverage instrumentation is not in stable compilers.
const TOOLCHAIN: &str = "nightly";
/// Seconds for each target when all of them run: long enough to go beyond the seeds.
const SECONDS_EACH: u64 = 60;

/// The workspace of the fuzz targets. It is one of its own: their instrumentation and their lock file are nobody else's business.
pub(crate) fn manifest(root: &Path) -> PathBuf {
    root.join("fuzz/Cargo.toml")
}

/// Lints the targets with the machine's own toolchain, so that they do not rot where no nightly is.
pub(crate) fn lint(workspace: &Workspace) -> Command {
    let mut cargo = process::cargo_locked(workspace.root(), "clippy");
    cargo.arg("--manifest-path").arg(manifest(workspace.root()));
    // What both workspaces need is built once.
    cargo.arg("--target-dir").arg(workspace.target());
    cargo.args(["--all-targets", "--", "-D", "warnings"]);
    cargo
}

/// What a fuzz command does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Runs one target until it is interrupted, or each for a minute.
    Search(Option<OsString>),
    /// Runs each target for this many hours.
    Hours(u32),
    /// Runs the seeds of each target once, with the machine's own toolchain.
    Replay,
}

/// Runs fuzz targets; `args` go to them.
pub(crate) fn run(workspace: &Workspace, mode: &Mode, args: &[OsString]) -> Result<ExitCode, Error> {
    let root = workspace.root();
    let targets = targets(root)?;
    let seconds = match mode {
        Mode::Replay => return replay(workspace, &targets, args),
        Mode::Search(Some(wanted)) => {
            if !targets.iter().any(|name| wanted == name.as_str()) {
                let known = targets.join(", ");
                return Err(Error::Usage(format!("there is no fuzz target `{}`; there are {known}", wanted.display())));
            }
            tools(root)?;
            return run_one(root, wanted, args);
        }
        Mode::Search(None) => SECONDS_EACH,
        Mode::Hours(hours) => u64::from(*hours) * 3600,
    };
    tools(root)?;
    let mut args = args.to_vec();
    args.insert(0, format!("-max_total_time={seconds}").into());
    for target in &targets {
        say(format_args!("fuzz target `{target}` for {seconds} seconds"));
        let code = run_one(root, OsStr::new(target), &args)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the seeds of each target once. Nothing is instrumented, so any toolchain and no cargo-fuzz will do.
fn replay(workspace: &Workspace, targets: &[String], args: &[OsString]) -> Result<ExitCode, Error> {
    let root = workspace.root();
    let cargo = |subcommand| {
        let mut cargo = process::cargo_locked(root, subcommand);
        cargo.arg("--manifest-path").arg(manifest(root)).arg("--target-dir").arg(workspace.target());
        cargo
    };
    process::run_talkative(cargo("build").arg("--bins"))?;
    for target in targets {
        let mut cargo = cargo("run");
        cargo.args(["--quiet", "--bin", target, "--", "-runs=0"]).args(args);
        cargo.arg(root.join("fuzz/seeds").join(target));
        let code = process::exit_code(process::status(&mut cargo)?);
        if code != 0 {
            return Ok(ExitCode::from(code));
        }
    }
    say(format_args!("replayed the seeds of {} fuzz targets", targets.len()));
    Ok(ExitCode::SUCCESS)
}

/// What was found earlier is kept in `corpus` on this machine; `seeds` come with the repository.
fn run_one(root: &Path, target: &OsStr, args: &[OsString]) -> Result<ExitCode, Error> {
    let fuzz = root.join("fuzz");
    let [corpus, seeds] = ["corpus", "seeds"].map(|kind| fuzz.join(kind).join(target));
    fs::create_dir_all(&corpus).map_err(Error::io("create", &corpus))?;
    let mut command = cargo_fuzz(root);
    command.args(["run", "--fuzz-dir"]).arg(&fuzz).arg(target).arg(corpus);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.arg("--").args(args);
    Ok(ExitCode::from(process::exit_code(process::status(&mut command)?)))
}

/// The targets, by the names of their files, sorted.
fn targets(root: &Path) -> Result<Vec<String>, Error> {
    let dir = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&dir).map_err(Error::io("read", &dir))? {
        let path = entry.map_err(Error::io("read", &dir))?.path();
        if path.extension() == Some(OsStr::new("rs")) {
            names.extend(path.file_stem().and_then(OsStr::to_str).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// Both are for people who look for defects; nothing else needs them, so they are not installed unasked.
fn tools(root: &Path) -> Result<(), Error> {
    let nightly = process::output(Command::new("rustup").args(["run", TOOLCHAIN, "rustc", "--version"]));
    if nightly.is_err() {
        return Err(Error::Missing {
            what: "a nightly toolchain, which fuzzing needs,".to_owned(),
            install: "`rustup toolchain install nightly` installs it".to_owned(),
        });
    }
    if process::output(cargo_fuzz(root).arg("--version")).is_err() {
        return Err(Error::Missing {
            what: "`cargo-fuzz`".to_owned(),
            install: "`cargo install --locked cargo-fuzz` installs it".to_owned(),
        });
    }
    Ok(())
}

/// `cargo fuzz` with the nightly toolchain, whatever toolchain started us.
fn cargo_fuzz(root: &Path) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", TOOLCHAIN, "cargo", "fuzz"]).current_dir(root);
    for of_the_other in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(of_the_other);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_their_files() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("fuzz/fuzz_targets");
        fs::create_dir_all(&dir).unwrap();
        for name in ["junit.rs", "archive.rs", "README.md"] {
            fs::write(dir.join(name), "").unwrap();
        }
        assert_eq!(targets(root.path()).unwrap(), ["archive", "junit"]);
    }

    #[test]
    fn every_target_has_seeds() {
        let workspace = Workspace::find().unwrap();
        for target in targets(workspace.root()).unwrap() {
            let seeds = fs::read_dir(workspace.root().join("fuzz/seeds").join(&target));
            assert!(seeds.is_ok_and(|mut seeds| seeds.next().is_some()), "`{target}` has no seeds");
        }
    }

    #[test]
    fn a_target_that_is_not_there_is_answered_with_those_that_are() {
        let workspace = Workspace::find().unwrap();
        let error = run(&workspace, &Mode::Search(Some("jnuit".into())), &[]).unwrap_err().to_string();
        assert!(error.contains("`jnuit`") && error.contains("junit"), "{error}");
    }
}
