//! Calls a module with one damaged input after the other.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use plumbline_sandbox::ModuleFailure;

use super::error::FuzzError;
use super::input::Input;
use super::keep::keep;
use super::seeds::seeds;
use crate::golden::{Case, Project, Runner};

/// The time after which no further input is started.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Maximum number of findings. An author with this many already has enough to fix.
const MAX_FINDINGS: usize = 20;

/// The settings of a fuzz run.
#[derive(Debug, Clone, Copy)]
pub struct FuzzOptions {
    /// The number of inputs.
    pub inputs: u64,
    /// The seed. The same seed gives the same inputs.
    pub seed: u64,
}

/// The result of a fuzz run.
#[derive(Debug, Clone, Default)]
pub struct FuzzReport {
    /// The number of inputs that were run. It is lower than requested if the time limit of ten
    /// minutes was reached.
    pub inputs: u64,
    /// The wall-clock time of the run.
    pub wall: Duration,
    /// The number of inputs that the module rejected with an error of its own, which is allowed.
    pub refused: u64,
    /// The failures: the first input for each way to fail.
    pub findings: Vec<Finding>,
}

/// An input that made a module fail.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The number of the input, from 0.
    pub input: u64,
    /// The case whose file was damaged.
    pub case: String,
    /// The damaged file.
    pub file: String,
    /// A description of the damage.
    pub damage: String,
    /// How the module failed.
    pub failure: String,
    /// The directory of the finding, in the layout of a case. `plumbline plugin test DIR .fuzz/…`
    /// runs it again.
    pub kept: PathBuf,
}

impl FuzzReport {
    /// Returns the number of inputs per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.inputs as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Runs the module of `project` on damaged files of `cases`, on as many threads as there are cores.
///
/// Findings are written below `tests/.fuzz/`. The call blocks, for at most ten minutes plus the
/// time of one input.
///
/// # Errors
/// There is no file to damage, a case cannot be run, or a finding cannot be written.
pub fn run(
    project: &Project,
    cases: &[Case],
    runner: &Runner<'_>,
    options: FuzzOptions,
) -> Result<FuzzReport, FuzzError> {
    let seeds = seeds(project, cases, runner)?;
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (next, tried, refused) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<BTreeMap<String, (u64, String)>> = Mutex::default();
    let host: Mutex<Option<String>> = Mutex::default();
    let start = Instant::now();
    let work = || {
        while start.elapsed() < MAX_TIME && host.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= options.inputs {
                return;
            }
            let Some(input) = Input::new(&seeds, options.seed, n) else { return };
            match input.call() {
                Ok(()) => {}
                Err(ModuleFailure::Refused(_)) => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                Err(failure @ (ModuleFailure::Host(_) | ModuleFailure::NoRole { .. })) => {
                    host.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure.to_string());
                }
                Err(failure) => {
                    note(&mut failed.lock().unwrap_or_else(PoisonError::into_inner), n, failure.to_string())
                }
            }
            tried.fetch_add(1, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    if let Some(reason) = host.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(FuzzError::Host(reason));
    }
    let wall = start.elapsed();
    let mut failed: Vec<(u64, String)> =
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect();
    failed.sort();
    failed.truncate(MAX_FINDINGS);
    let mut findings = Vec::new();
    for (n, failure) in failed {
        // Recreate the input, which is deterministic, instead of keeping it in memory.
        let Some(input) = Input::new(&seeds, options.seed, n) else { continue };
        let kept = keep(project, &input, &failure, options.seed, n)?;
        let Input { seed, file, damaged } = input;
        let file = seed.files.get(file).map(|file| file.path.clone()).unwrap_or_default();
        findings.push(Finding { input: n, case: seed.case.name.clone(), file, damage: damaged.how, failure, kept });
    }
    Ok(FuzzReport { inputs: tried.into_inner(), wall, refused: refused.into_inner(), findings })
}

/// Keeps the first input for each failure, so that the report does not depend on the order of
/// threads.
fn note(failed: &mut BTreeMap<String, (u64, String)>, n: u64, failure: String) {
    // Ignore numbers in the message: they give positions, and do not make it another failure.
    let key: String = failure.chars().filter(|c| !c.is_ascii_digit()).take(300).collect();
    let first = failed.entry(key).or_insert_with(|| (n, failure.clone()));
    if n < first.0 {
        *first = (n, failure);
    }
}
