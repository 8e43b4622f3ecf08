//! `cargo xtask fuzz`: fuzzes all code that reads untrusted bytes, with libFuzzer.
//!
//! The compiler's coverage instrumentation is stable, so the machine's own toolchain is sufficient.
//! Sanitizers are not stable. They are not needed either, because the workspace forbids unsafe
//! code.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Mutex;
use std::thread;

use crate::built;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::report::{line, print_status};

/// Seconds for each target if all of them run: enough to go beyond the seeds.
const SECONDS_EACH: u64 = 60;
/// Limits for one input: 25 s and 2 GiB, which are findings if they are exceeded, and 64 KiB. Without
/// the last one, libFuzzer makes no input longer than 4 KiB.
const LIMITS: [&str; 3] = ["-timeout=25", "-rss_limit_mb=2048", "-max_len=65536"];
/// Number of log lines to show if a target found something.
const TAIL: usize = 60;

/// Returns a command that lints the targets like the rest of the code.
pub(crate) fn lint(workspace: &Workspace) -> Result<Command, Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "clippy");
    select(&mut cargo, &targets(workspace.root())?);
    cargo.args(["--", "-D", "warnings"]);
    Ok(cargo)
}

/// Selects targets from the whole workspace. Cargo then chooses the same features of other crates
/// as for the tests, so that both share them.
fn select(cargo: &mut Command, targets: &[String]) {
    cargo.arg("--workspace").args(targets.iter().flat_map(|target| ["--test", target]));
}

/// The settings of a fuzz run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The target; all targets if not set.
    pub(crate) target: Option<OsString>,
    /// The time for each target. If not set, a single target runs until it is interrupted.
    pub(crate) seconds: Option<u64>,
    /// Arguments for the targets.
    pub(crate) args: Vec<OsString>,
}

/// Runs one target in the foreground, or all of them, as many in parallel as there are processors.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode, Error> {
    let targets = targets(workspace.root())?;
    if let Some(wanted) = &options.target
        && !targets.iter().any(|name| wanted == name.as_str())
    {
        let known = targets.join(", ");
        return Err(Error::Usage(format!("unknown fuzz target `{}` (targets: {known})", wanted.display())));
    }
    let wanted = match &options.target {
        Some(target) => vec![target.to_string_lossy().into_owned()],
        None => targets.clone(),
    };
    let place = FuzzDirs { fuzz: workspace.root().join("fuzz"), programs: build(workspace, &wanted)? };
    match options.target.as_deref().and_then(OsStr::to_str) {
        Some(target) => {
            let status = process::status(&mut place.command(target, options.seconds, &options.args)?)?;
            Ok(ExitCode::from(process::exit_code(status)))
        }
        None => all(&place, targets, options.seconds.unwrap_or(SECONDS_EACH), &options.args),
    }
}

/// Builds the targets with instrumentation, and returns the directory of the programs.
///
/// Crates of other workspaces are not instrumented: those are shared with the tests, which saves
/// most of the build.
fn build(workspace: &Workspace, targets: &[String]) -> Result<PathBuf, Error> {
    let directory = workspace.target().join("fuzz");
    fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
    let mut cargo = process::cargo_locked(workspace.root(), "test");
    cargo.arg("--no-run");
    select(&mut cargo, targets);
    // With an explicit target, `instrument` tells build scripts from other code.
    cargo.args(["--target", &host()?]);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", workspace.root().join("fuzz/instrument"));
    // A little optimization costs less time than it saves in half a minute per target.
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    let built = built::build(&mut cargo)?;
    for target in targets {
        let (from, to) = (built.tests(target)?, directory.join(target));
        if to.exists() {
            fs::remove_file(&to).map_err(Error::io("remove", &to))?;
        }
        fs::hard_link(&from, &to).map_err(Error::io("create", &to))?;
    }
    Ok(directory)
}

/// Returns the host platform of the compiler.
fn host() -> Result<String, Error> {
    let version = process::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Error::Usage(format!("`rustc -vV` names no host: {version}")))
}

/// The directories of the targets and their inputs.
struct FuzzDirs {
    fuzz: PathBuf,
    programs: PathBuf,
}

impl FuzzDirs {
    /// Returns the command that runs a target. `corpus` keeps what earlier runs on this machine
    /// found, and `seeds` are part of the repository.
    fn command(&self, target: &str, seconds: Option<u64>, args: &[OsString]) -> Result<Command, Error> {
        let [corpus, findings] = ["corpus", "artifacts"].map(|kind| self.fuzz.join(kind).join(target));
        for directory in [&corpus, &findings] {
            fs::create_dir_all(directory).map_err(Error::io("create", directory))?;
        }
        let mut command = Command::new(self.programs.join(target));
        command.args(LIMITS).arg("-print_final_stats=1");
        command.arg(format!("-artifact_prefix={}/", findings.display()));
        if let Some(seconds) = seconds {
            command.arg(format!("-max_total_time={seconds}"));
        }
        command.args(args).arg(corpus).arg(self.fuzz.join("seeds").join(target));
        Ok(command)
    }

    fn log(&self, target: &str) -> PathBuf {
        self.programs.join(format!("{target}.log"))
    }

    /// Runs `target` to its end and prints the result.
    fn search(&self, target: &str, seconds: u64, args: &[OsString]) -> Result<ExitStatus, Error> {
        let log = self.log(target);
        let file = File::create(&log).map_err(Error::io("create", &log))?;
        let status = process::status(self.command(target, Some(seconds), args)?.stderr(file))?;
        let said = fs::read(&log).map_err(Error::io("read", &log))?;
        let said = String::from_utf8_lossy(&said);
        if status.success() {
            print_status(format_args!("fuzz target `{target}`: {} executions in {seconds} s", executions(&said)));
        } else {
            let lines: Vec<&str> = said.lines().collect();
            line(lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default().join("\n"));
            print_status(format_args!(
                "fuzz target `{target}` found something: see the lines above and `{}`",
                log.display()
            ));
        }
        Ok(status)
    }
}

/// Returns the number of executions that libFuzzer prints at its end.
fn executions(log: &str) -> &str {
    let line = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    line.map_or("an unknown number of", str::trim)
}

/// Runs all targets. Each runs to its end, even if another has found something.
fn all(place: &FuzzDirs, targets: Vec<String>, seconds: u64, args: &[OsString]) -> Result<ExitCode, Error> {
    let count = targets.len();
    let next = Mutex::new(targets.into_iter());
    let worker = || -> Result<bool, Error> {
        let mut clean = true;
        loop {
            // The lock is held for this statement only.
            let Some(target) = next.lock().ok().and_then(|mut next| next.next()) else { return Ok(clean) };
            clean &= place.search(&target, seconds, args)?.success();
        }
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from).min(count);
    let results: Vec<Result<bool, Error>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Ok(false))).collect()
    });
    let clean = results.into_iter().collect::<Result<Vec<bool>, Error>>()?;
    if clean.contains(&false) {
        return Ok(ExitCode::FAILURE);
    }
    print_status(format_args!("{count} fuzz targets found nothing"));
    Ok(ExitCode::SUCCESS)
}

/// Returns the targets, by the names of their files, sorted.
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
        let options = Options { target: Some("jnuit".into()), ..Options::default() };
        let error = run(&workspace, &options).unwrap_err().to_string();
        assert!(error.contains("`jnuit`") && error.contains("junit"), "{error}");
    }

    /// Creates a directory whose targets are these scripts.
    fn place(root: &Path, scripts: &[(&str, &str)]) -> FuzzDirs {
        let programs = root.join("programs");
        fs::create_dir(&programs).unwrap();
        for (name, script) in scripts {
            crate::test_script::write_script(&programs.join(name), script);
        }
        FuzzDirs { fuzz: root.join("fuzz"), programs }
    }

    #[test]
    fn a_finding_fails_the_search_and_does_not_end_the_other_targets() {
        let root = tempfile::tempdir().unwrap();
        let place = place(
            root.path(),
            &[("a", "echo found >&2; exit 77"), ("b", "echo stat::number_of_executed_units: 12 >&2"), ("c", "exit 0")],
        );
        let targets = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(all(&place, targets, 1, &[]).unwrap(), ExitCode::FAILURE);
        for (target, said) in [("a", "found\n"), ("b", "stat::number_of_executed_units: 12\n"), ("c", "")] {
            assert_eq!(fs::read_to_string(place.log(target)).unwrap(), said);
        }
        assert_eq!(all(&place, vec!["b".into(), "c".into()], 1, &[]).unwrap(), ExitCode::SUCCESS);
    }

    #[test]
    fn a_target_gets_its_time_its_corpus_and_its_seeds() {
        let root = tempfile::tempdir().unwrap();
        let place = place(root.path(), &[("a", "echo \"$@\" >&2")]);
        all(&place, vec!["a".into()], 30, &["-runs=1".into()]).unwrap();
        let said = fs::read_to_string(place.log("a")).unwrap();
        assert!(said.contains("-max_total_time=30 -runs=1 "), "{said}");
        assert!(said.ends_with("fuzz/corpus/a ") || said.contains("fuzz/corpus/a "), "{said}");
        assert!(said.trim_end().ends_with("fuzz/seeds/a"), "{said}");
        assert_eq!(executions("x\nstat::number_of_executed_units: 7\n"), "7");
    }
}
