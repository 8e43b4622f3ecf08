//! Calling a module with one damaged input after the other.

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

/// After this no further input is begun.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Findings that are kept. Whoever has this many has a first one to mend.
const MAX_FINDINGS: usize = 20;

/// How a module is tried.
#[derive(Debug, Clone, Copy)]
pub struct FuzzOptions {
    /// How many inputs.
    pub inputs: u64,
    /// Which inputs: the same number gives the same ones.
    pub seed: u64,
}

/// How a module stood it.
#[derive(Debug, Clone, Default)]
pub struct FuzzReport {
    /// Inputs that were tried. Fewer than asked for if time was up, after ten minutes.
    pub inputs: u64,
    /// What that took.
    pub wall: Duration,
    /// Inputs that the module refused with a sentence of its own: that is fine.
    pub refused: u64,
    /// What it did not stand: one for each way to fail, the first input that led to it.
    pub findings: Vec<Finding>,
}

/// An input that a module did not stand.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The number of the input, from 0.
    pub input: u64,
    /// The case whose file was damaged.
    pub case: String,
    /// The file.
    pub file: String,
    /// What was done to it.
    pub damage: String,
    /// How the module failed.
    pub failure: String,
    /// Where it is kept, laid out as a case: `plumbline plugin test DIR .fuzz/…` runs it again.
    pub kept: PathBuf,
}

impl FuzzReport {
    /// Inputs per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.inputs as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Tries the module of `project` with damaged files of `cases`, on as many threads as there are cores. Findings are written below
/// `tests/.fuzz/`. Blocking, for at most ten minutes and one input.
///
/// # Errors
/// When there is nothing to damage, a case cannot be run, or a finding cannot be kept.
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
        // Made again rather than kept: it is the same one.
        let Some(input) = Input::new(&seeds, options.seed, n) else { continue };
        let kept = keep(project, &input, &failure, options.seed, n)?;
        let Input { seed, file, damaged } = input;
        let file = seed.files.get(file).map(|file| file.path.clone()).unwrap_or_default();
        findings.push(Finding { input: n, case: seed.case.name.clone(), file, damage: damaged.how, failure, kept });
    }
    Ok(FuzzReport { inputs: tried.into_inner(), wall, refused: refused.into_inner(), findings })
}

/// Of the same failure, the first input: whichever thread came first, the report is the same.
fn note(failed: &mut BTreeMap<String, (u64, String)>, n: u64, failure: String) {
    // Numbers in a sentence say where it happened, and make no other failure of it.
    let key: String = failure.chars().filter(|c| !c.is_ascii_digit()).take(300).collect();
    let first = failed.entry(key).or_insert_with(|| (n, failure.clone()));
    if n < first.0 {
        *first = (n, failure);
    }
}
