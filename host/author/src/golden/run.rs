//! Plans and runs cases, several at a time.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use plumbline_aggregator::{LimitPolicy, ModuleError, Modules, PlanError, PlannedPlugin, Source, prepare};
use plumbline_archive::atomic::AtomicFile;
use plumbline_core::definition::Definition;
use serde_json::{Map, Value};

use super::actual::{Actual, MAX_TREE, document, expected, tree, unusable, verdict};
use super::case::{Case, CaseKind, DEFINITION, EXPECTED, OPTIONS, Project, definition};
use super::checked::checked;
use super::report::{CaseReport, CaseResult, Report, compare};
use crate::snapshot::read;

/// The default timeout of one call of a module.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The hint for a missing module.
const BUILD_FIRST: &str = "build the module first: `plumbline plugin build`";
/// The time after which a running case is reported as slow.
const SLOW: Duration = Duration::from_secs(2);

/// The settings of a test run.
pub struct Runner<'a> {
    /// The built-in modules, and the sandbox. Modules of bundles are read only once, so a rebuilt
    /// project needs a new value.
    pub modules: &'a Modules,
    /// The limits of modules.
    pub limits: &'a LimitPolicy,
    /// The timeout of one call of a module, if its limits do not set a lower one.
    pub timeout: Duration,
    /// Which outputs become expectations.
    pub bless: Bless,
    /// Called with the name of a case that has been running for two seconds.
    pub slow: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Runner<'a> {
    /// Creates a runner with the default timeout that blesses nothing.
    pub fn new(modules: &'a Modules, limits: &'a LimitPolicy) -> Self {
        Self { modules, limits, timeout: DEFAULT_TIMEOUT, bless: Bless::Nothing, slow: &|_| {} }
    }
}

/// Which outputs are written to `expected.yaml`. Outputs of crashes and exceeded limits are never
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bless {
    /// No output.
    Nothing,
    /// Outputs without an error.
    Results,
    /// Also outputs in which a module returned an error, such as a caught exception.
    Errors,
}

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

/// Runs `case`. The error is a sentence that says why the case could not be run.
fn actual(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<Actual, String> {
    let planned = planned(project, case, runner)?;
    match case.kind {
        CaseKind::Results => tree(&planned, case),
        CaseKind::Check => checked(&planned, case),
        CaseKind::Expectations => expected(planned, case, runner.modules),
        CaseKind::Judgement => verdict(&planned, case),
    }
}

/// Returns the plugin for `case`, with its modules compiled. The error is a sentence.
pub(crate) fn planned(project: &Project, case: &Case, runner: &Runner<'_>) -> Result<PlannedPlugin, String> {
    let source = source(project, case)?;
    let mut planned = prepare(runner.modules, runner.limits, source)
        .and_then(|planned| match case.kind {
            CaseKind::Check => planned.with_check(runner.modules, runner.limits),
            CaseKind::Results | CaseKind::Expectations | CaseKind::Judgement => Ok(planned),
        })
        .map_err(|error| match error {
            PlanError::Module { source: ModuleError::Unknown { .. } | ModuleError::NoCheck { .. }, .. } => {
                format!("{error}; {BUILD_FIRST}")
            }
            error => error.to_string(),
        })?;
    if matches!(case.kind, CaseKind::Results | CaseKind::Check)
        && let Some(warning) = planned.warnings().first()
    {
        // A run only adds this warning to the tree. A test would record the warning as expected
        // output.
        return Err(format!("{warning}; {BUILD_FIRST}"));
    }
    planned.ready().map_err(|error| error.to_string())?;
    // The sandbox counts whole seconds.
    let timeout = runner.timeout.as_secs().max(1);
    let judges = planned.judges.iter_mut().map(|judge| &mut judge.limits);
    let check = planned.check.iter_mut().map(|check| &mut check.limits);
    for limits in std::iter::once(&mut planned.limits).chain(judges).chain(check) {
        limits.wall_seconds = limits.wall_seconds.min(timeout);
    }
    Ok(planned)
}

fn source(project: &Project, case: &Case) -> Result<Source, String> {
    let own = case.dir.join(DEFINITION);
    let mut source = project.source.clone();
    if own.is_file() {
        source.definition = Arc::new(definition(&own).map_err(|error| error.to_string())?.0);
    }
    let path = case.dir.join(OPTIONS);
    if path.is_file() {
        let wrong = |error: &dyn Display| unusable(&path, error);
        let text = document(&path)?;
        let text = std::str::from_utf8(&text).map_err(|error| wrong(&error))?;
        let options: Map<String, Value> = serde_saphyr::from_str(text).map_err(|error| wrong(&error))?;
        let definition = Arc::make_mut(&mut source.definition);
        match case.kind {
            CaseKind::Results | CaseKind::Expectations | CaseKind::Check => {
                definition.plumbline.options.extend(options)
            }
            CaseKind::Judgement => set_judge_options(options, definition).map_err(|error| wrong(&error))?,
        }
    }
    Ok(source)
}

/// Applies the options of a case, which override those of the named judges in the chain. The error
/// is a sentence.
fn set_judge_options(options: Map<String, Value>, definition: &mut Definition) -> Result<(), String> {
    for (name, options) in options {
        let Value::Object(options) = options else {
            return Err(format!("`{name}`: the options of a judge must be a mapping"));
        };
        let chain = definition.plumbline.verdict.iter_mut();
        let mut entries = chain.filter(|entry| entry.judge == name).peekable();
        if entries.peek().is_none() {
            return Err(format!("`{name}` is not a judge of the chain: put options below the name of their judge"));
        }
        entries.for_each(|entry| entry.options.extend(options.clone()));
    }
    Ok(())
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
