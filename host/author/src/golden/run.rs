//! Runs cases, several at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use plumbline_archive::atomic::AtomicFile;

use super::actual::{Actual, MAX_TREE, actual};
use super::case::{Case, EXPECTED, Project};
use super::report::{CaseReport, CaseResult, Report, compare};
use super::runner::{Bless, Runner};
use crate::snapshot::read;

/// The time after which a running case is reported as slow.
const SLOW: Duration = Duration::from_secs(2);

/// Runs the cases, as many at a time as there are cores. The call blocks.
pub fn run(project: &Project, cases: &[Case], runner: &Runner<'_>) -> Report {
    let (begin, watched) = mpsc::channel::<(usize, Instant)>();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(cases.len()).max(1);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![None; cases.len()]));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (begin, next, done) = (begin.clone(), &next, &done);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else { return };
                    // Sending fails only if the receiver has panicked.
                    let _ = begin.send((at, Instant::now()));
                    let report = run_case(project, case, runner);
                    if let Some(slot) = done.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                        *slot = Some(report);
                    }
                }
            });
        }
        drop(begin);
        let is_done =
            |at: usize| done.lock().unwrap_or_else(PoisonError::into_inner).get(at).is_none_or(Option::is_some);
        report_slow(&watched, |at| {
            if let Some(case) = cases.get(at).filter(|_| !is_done(at)) {
                (runner.slow)(&case.name);
            }
        });
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Report { cases: done.into_iter().flatten().collect() }
}

/// Calls `report` for every case two seconds after its start. Returns when all threads have ended.
fn report_slow(started: &mpsc::Receiver<(usize, Instant)>, report: impl Fn(usize)) {
    let mut running: VecDeque<(usize, Instant)> = VecDeque::new();
    loop {
        let due = running.front().map_or(SLOW, |(_, start)| SLOW.saturating_sub(start.elapsed()));
        match started.recv_timeout(due) {
            Ok(case) => running.push_back(case),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Some((at, _)) = running.pop_front() {
                    report(at);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn run_case(project: &Project, case: &Case, runner: &Runner<'_>) -> CaseReport {
    let (result, wall, memory) = match actual(project, case, runner) {
        Err(reason) => (CaseResult::Broken(reason), Duration::ZERO, 0),
        Ok(actual) => {
            let result = match actual.usage.broken.first() {
                Some(reason) if reason.contains("`wall-seconds`") => {
                    CaseResult::Broken(format!("{reason}; raise it with `--timeout`"))
                }
                Some(reason) if reason.contains("panicked at") => {
                    CaseResult::Broken(format!("{reason} (details: `--level debug`)"))
                }
                Some(reason) => CaseResult::Broken(reason.clone()),
                None => judge(case, &actual, runner.bless),
            };
            (result, actual.wall, actual.usage.memory)
        }
    };
    CaseReport { name: case.name.clone(), kind: case.kind, result, wall, memory }
}

fn judge(case: &Case, actual: &Actual, bless: Bless) -> CaseResult {
    let path = case.dir.join(EXPECTED);
    let there = match read(&path, MAX_TREE) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return CaseResult::Broken(format!("failed to read `{}`: {error}", path.display())),
    };
    // Invalid UTF-8 never equals the actual output, and the difference shows where it is.
    let expected = there.as_deref().map(String::from_utf8_lossy);
    let difference = expected.as_deref().map(|expected| compare(expected, &actual.text));
    let is_expected = matches!(difference, Some(None));
    if let Some(what) = actual.unrecorded.first().filter(|_| !is_expected && bless != Bless::Errors) {
        return CaseResult::Broken(format!("{what}: record it, or accept the error with `--bless-errors`"));
    }
    match difference {
        Some(None) => CaseResult::Passed,
        // A damaged input has no correct tree. The case passes if the module does not fail.
        None if case.is_finding() => CaseResult::Passed,
        _ if bless != Bless::Nothing => match (actual.usage.refused.first(), bless) {
            (Some(error), Bless::Results) => CaseResult::Broken(format!(
                "not blessed, because the module returned an error: {error}; `--bless-errors` expects it"
            )),
            _ => match write(&path, &actual.text) {
                Ok(()) => CaseResult::Blessed { new: expected.is_none() },
                Err(error) => CaseResult::Broken(format!("failed to write `{}`: {error}", path.display())),
            },
        },
        Some(Some(diff)) => CaseResult::Failed(diff),
        None => CaseResult::Missing,
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?.readable_by_all()?;
    file.write_all(text.as_bytes())?;
    file.commit()
}
