//! Fuzzing: runs a module on damaged inputs.
//!
//! Each input is one of the golden cases with one damaged file. The file is truncated, has flipped
//! bits, repeated or missing pieces, endless lines, endless nesting or random bytes. A module may
//! reject an input, or mark items as `unknown`. It must not trap, break a rule of the contract, or
//! exceed a limit. The same seed gives the same inputs.

mod damage;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plumbline_aggregator::{PlannedPlugin, module_inputs};
use plumbline_core::{FlatItem, ModuleLimits};
use plumbline_sandbox::{InputFile, ItemSink, ModuleFailure, NoLog, PostProcess};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use self::damage::{Damaged, Random, damage};
use crate::error::AuthorError;
use crate::golden::{Case, CaseKind, DEFINITION, FINDINGS_DIR, OPTIONS, Project, Runner, TESTS_DIR, planned};
use crate::snapshot::read;

/// The time after which no further input is started.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Maximum number of findings. An author with this many already has enough to fix.
const MAX_FINDINGS: usize = 20;
/// Time limit in seconds for one input, even if the definition allows more. Inputs are small, and
/// there are many.
const MAX_WALL_SECONDS: u64 = 10;
/// Maximum number of bytes of a file. What breaks a parser breaks it in the first megabyte, and a
/// thousand inputs must not take hours.
const MAX_FILE: usize = 1 << 20;
/// Maximum number of bytes of all files together.
const MAX_ALL: usize = 64 << 20;
/// Number of digest bytes in the name of a finding.
const NAME_BYTES: usize = 8;
/// The file that describes a finding.
const STORY: &str = "finding.json";

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
#[derive(Debug, Clone, Serialize)]
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
    pub fn rate(&self) -> f64 {
        self.inputs as f64 / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Runs the module of `project` on damaged files of `cases`, on as many threads as there are cores.
///
/// Findings are written below `tests/.fuzz/`. The call blocks, for at most ten minutes plus the
/// time of one input.
pub fn run(
    project: &Project,
    cases: &[Case],
    runner: &Runner<'_>,
    options: FuzzOptions,
) -> Result<FuzzReport, AuthorError> {
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
                    note(&mut failed.lock().unwrap_or_else(PoisonError::into_inner), n, failure.to_string());
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
        return Err(AuthorError::system("failed to call the module").because(reason));
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
        let file = seed.files.get(file).map(|(path, _)| path.clone()).unwrap_or_default();
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

/// One result set of a case, for one call.
struct Seed {
    case: Case,
    plugin: Arc<PlannedPlugin>,
    /// The undamaged files: the path that the module sees, and the content.
    files: Vec<(String, Arc<[u8]>)>,
}

/// Returns the result sets of `cases` whose files are readable.
fn seeds(project: &Project, cases: &[Case], runner: &Runner<'_>) -> Result<Vec<Seed>, AuthorError> {
    let mut seeds = Vec::new();
    let mut all = 0;
    for case in cases.iter().filter(|case| case.kind == CaseKind::Results) {
        let failed = |reason: String| AuthorError::input(format!("case `{}`", case.name)).because(reason);
        let plugin = Arc::new(planned(project, case, runner).map_err(failed)?);
        let module = &plugin.post_processor;
        let inputs =
            module_inputs(&plugin.subject(), &case.dir, module.info()).map_err(|error| failed(error.to_string()))?;
        for input in inputs {
            let mut files = Vec::new();
            for (path, absolute) in input.files {
                let mut bytes = read(&absolute, MAX_FILE as u64)
                    .map_err(|error| failed(format!("failed to read `{}`: {error}", absolute.display())))?;
                bytes.truncate(MAX_FILE);
                all += bytes.len();
                if all > MAX_ALL {
                    break;
                }
                files.push((path, bytes.into()));
            }
            // Keep what fits, also of the first set. Without any file, no input would be run.
            if !files.is_empty() {
                seeds.push(Seed { case: case.clone(), plugin: Arc::clone(&plugin), files });
            }
            if all > MAX_ALL {
                tracing::warn!(
                    case = case.name,
                    "more than {} MiB of files: later files are not fuzzed",
                    MAX_ALL >> 20
                );
                return Ok(seeds);
            }
        }
    }
    if seeds.is_empty() && cases.iter().any(|case| case.kind == CaseKind::Check) {
        return Err(AuthorError::input("a check reads a node or a cluster, and no files of results to damage")
            .hint("test damaged input with cases of its own, without `--fuzz`"));
    }
    if seeds.is_empty() {
        return Err(AuthorError::input("no case has a file that the module reads: there is nothing to damage"));
    }
    Ok(seeds)
}

/// The input of one call: the result set of a node, with one damaged file.
struct Input<'a> {
    seed: &'a Seed,
    /// The index of the damaged file.
    file: usize,
    damaged: Damaged,
}

impl<'a> Input<'a> {
    fn new(seeds: &'a [Seed], seed: u64, n: u64) -> Option<Self> {
        let mut random = Random::new(seed, n);
        let chosen = random.one(seeds)?;
        let file = random.below(chosen.files.len());
        let (_, bytes) = chosen.files.get(file)?;
        let other = random.one(seeds).and_then(|other| other.files.first()).map_or(bytes, |(_, bytes)| bytes);
        let damaged = damage(bytes, other, &mut random);
        Some(Self { seed: chosen, file, damaged })
    }

    fn files(&self) -> impl Iterator<Item = (&str, Arc<[u8]>)> {
        self.seed.files.iter().enumerate().map(|(at, (path, bytes))| {
            let bytes = if at == self.file { self.damaged.bytes.as_slice().into() } else { Arc::clone(bytes) };
            (path.as_str(), bytes)
        })
    }

    fn call(&self) -> Result<(), ModuleFailure> {
        let plugin = &self.seed.plugin;
        let module = plugin.post_processor.wait();
        let module = module.map_err(|error| ModuleFailure::Host(io::Error::other(error.to_string())))?;
        let wall_seconds = plugin.limits.wall_seconds.min(MAX_WALL_SECONDS);
        let limits = ModuleLimits { wall_seconds, ..plugin.limits.clone() };
        let files = self.files().map(|(path, bytes)| InputFile {
            path: path.to_owned(),
            size: bytes.len() as u64,
            open: Box::new(move || Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>)),
        });
        let call = PostProcess { plugin: &plugin.info(), files: files.collect(), limits: &limits };
        module.post_process(call, &mut Nowhere, &mut NoLog).map(drop)
    }
}

/// Discards items. The sandbox has already checked that they are well-formed.
struct Nowhere;

impl ItemSink for Nowhere {
    fn item(&mut self, _: FlatItem) -> io::Result<()> {
        Ok(())
    }
}

/// Writes `input` to `tests/.fuzz/DIGEST/` in the layout of a case, so that it can be run again, and
/// returns that directory. The same input always gets the same directory.
fn keep(project: &Project, input: &Input<'_>, failure: &str, seed: u64, n: u64) -> Result<PathBuf, AuthorError> {
    let findings = project.dir.join(TESTS_DIR).join(FINDINGS_DIR);
    let mut digest = Sha256::new();
    for (path, bytes) in input.files() {
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    let name: String = hex::encode(digest.finalize()).chars().take(2 * NAME_BYTES).collect();
    let place = findings.join(name);
    if place.is_dir() {
        return Ok(place);
    }
    let write = || {
        fs::create_dir_all(&findings)?;
        // Write atomically: an incomplete finding would run as a case.
        let half = tempfile::Builder::new().prefix(".half-").tempdir_in(&findings)?;
        fill(half.path(), input, failure, seed, n)?;
        fs::rename(half.keep(), &place)
    };
    write().map_err(AuthorError::io("write", &place))?;
    Ok(place)
}

fn fill(dir: &Path, input: &Input<'_>, failure: &str, seed: u64, n: u64) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))?;
    for (path, bytes) in input.files() {
        // The path comes from walking the directory of a case, so it is relative and has no `..`.
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        fs::write(path, bytes)?;
    }
    for name in [DEFINITION, OPTIONS] {
        let own = input.seed.case.dir.join(name);
        if own.is_file() {
            fs::copy(own, dir.join(name))?;
        }
    }
    let file = input.seed.files.get(input.file).map(|(path, _)| path);
    let story = json!({
        "case": input.seed.case.name, "file": file, "damage": input.damaged.how, "failure": failure, "seed": seed, "input": n,
    });
    fs::write(dir.join(STORY), format!("{story:#}\n"))
}
