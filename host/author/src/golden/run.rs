//! Running cases, several at a time.

use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plumbline_aggregator::{LimitPolicy, Modules};

use super::actual::{MAX_TREE, actual};
use super::case::{Case, EXPECTED};
use super::compare::compare;
use super::project::{Project, read};
use super::report::{CaseReport, CaseResult, Report};

/// What runs cases.
pub struct Runner<'a> {
    /// The stock, and the sandbox. Modules of bundles are read once, so a project that was built anew needs new ones.
    pub modules: &'a Modules,
    /// What modules may use.
    pub limits: &'a LimitPolicy,
    /// What comes out is right: it is written to `expected.yaml`. Never what came of a module that was ended.
    pub bless: bool,
}

/// Runs the cases, as many at a time as there are cores. Blocking.
#[must_use]
pub fn run(project: &Project, cases: &[Case], runner: &Runner<'_>) -> Report {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len()).max(1);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![None; cases.len()]));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { return };
                    let report = one(project, case, runner);
                    if let Some(slot) = done.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                        *slot = Some(report);
                    }
                }
            });
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { cases: done.into_iter().flatten().collect() }
}

fn one(project: &Project, case: &Case, runner: &Runner<'_>) -> CaseReport {
    let report = |result, wall, memory| CaseReport { name: case.name.clone(), kind: case.kind, result, wall, memory };
    match actual(project, case, runner.modules, runner.limits) {
        Err(reason) => report(CaseResult::Broken(reason), Duration::ZERO, 0),
        Ok(actual) => {
            let result = match &actual.broken {
                Some(reason) => CaseResult::Broken(reason.clone()),
                None => judge(case, &actual.text, runner.bless),
            };
            report(result, actual.wall, actual.memory)
        }
    }
}

fn judge(case: &Case, actual: &str, bless: bool) -> CaseResult {
    let path = case.dir.join(EXPECTED);
    let there = match read(&path, MAX_TREE) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return CaseResult::Broken(format!("`{}` cannot be read: {error}", path.display())),
    };
    // Not UTF-8: then it is not what came out either, and the difference shows where.
    let expected = there.as_deref().map(String::from_utf8_lossy);
    let difference = expected.as_deref().map(|expected| compare(expected, actual));
    match difference {
        Some(None) => CaseResult::Passed,
        // A damaged input has no right tree: it is enough that the module stood it.
        None if case.is_finding() => CaseResult::Passed,
        _ if bless => match write(&path, actual) {
            Ok(()) => CaseResult::Blessed { new: expected.is_none() },
            Err(error) => CaseResult::Broken(format!("`{}` cannot be written: {error}", path.display())),
        },
        Some(Some(diff)) => CaseResult::Failed(diff),
        None => CaseResult::Missing,
    }
}

/// All or nothing: a case that is blessed while somebody reads it is the old or the new one.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".expected-").tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
