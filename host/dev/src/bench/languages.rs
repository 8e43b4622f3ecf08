//! Compares the same JUnit module in all languages: the cost of each runtime in size, time and
//! memory.
//!
//! Rust is the built-in module. The others are projects below `host/dev/modules/`, one directory
//! each, which are built as authors would build them. If the tools of a language are missing, a
//! line below the table says so.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plumbline_author::project::Project;
use plumbline_core::ModuleLimits;
use plumbline_dev::Result;
use plumbline_sandbox::{InputFile, Module, Sandbox, SandboxConfig};

use crate::bench::corpus;
use crate::bench::tools::{Called, call, median, print_table};

const PROJECTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/modules");
/// Number of small files, as from a plugin that writes one file per test.
const SMALL: usize = 10_000;
/// Approximate size of a small file in bytes.
const SMALL_BYTES: u64 = 1_500;
/// Time limit of one measurement, whatever number of calls was planned. An interpreter takes
/// minutes for what Rust does in a second.
const PATIENCE: Duration = Duration::from_secs(60);
/// Limits of a call. They are higher than the defaults, so that a runtime that needs more is
/// measured instead of rejected.
const MEMORY: u64 = 1 << 30;
const WALL_SECONDS: u64 = 900;

struct Candidate {
    name: String,
    component: std::result::Result<Vec<u8>, String>,
}

/// The measurements of a language. The error is a sentence.
struct Row {
    component: usize,
    compile: f64,
    cached: f64,
    empty: f64,
    large: std::result::Result<Large, String>,
    each: std::result::Result<f64, String>,
    all: std::result::Result<f64, String>,
}

struct Large {
    seconds: f64,
    memory: u64,
}

pub(crate) fn measure(megabytes: u64, runs: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("junit.xml");
    let cases = corpus::write(&path, megabytes * 1_000_000)?;
    let large: Arc<[u8]> = fs::read(&path)?.into();
    let few = corpus::write(&path, SMALL_BYTES)?;
    let inputs = Inputs { large, cases, small: fs::read(&path)?.into(), few };

    let mut rows: Vec<[String; 9]> = Vec::new();
    let mut base = None;
    for candidate in candidates()? {
        let measured = match &candidate.component {
            Ok(component) => row(component, &inputs, runs.max(1)),
            Err(reason) => Err(reason.clone().into()),
        };
        match measured {
            Ok(row) => {
                let seconds = row.large.as_ref().map(|large| large.seconds);
                if base.is_none() {
                    base = seconds.ok();
                }
                rows.push(cells(&candidate.name, &row, megabytes, base));
            }
            // Print the reason below the table, because the rest of the row would be empty.
            Err(error) => println!("skipped: {}: {error}", candidate.name),
        }
    }
    let header = [
        "language",
        "component",
        "compile",
        "from the cache",
        "a call without files",
        "the large file",
        "time / Rust",
        "a small file, one call each",
        "a small file, one call for all",
    ];
    let title = format!(
        "The same JUnit reader in each language: {megabytes} MB in one file, {cases} test cases; {SMALL} files of {few} test cases (median of {runs})"
    );
    print_table(&title, header, &rows);
    Ok(())
}

/// Returns the candidates. Rust is the first, because the others are compared with it.
fn candidates() -> Result<Vec<Candidate>> {
    let built_in = plumbline_bundle::built_in::embedded()
        .iter()
        .find(|module| module.name == "junit")
        .ok_or("no module `junit`")?;
    let mut all = vec![Candidate { name: "Rust".to_owned(), component: Ok(built_in.wasm().to_vec()) }];
    let sandbox = Sandbox::new(config(None))?;
    let mut projects: Vec<PathBuf> = match fs::read_dir(PROJECTS) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    projects.retain(|path| path.join("module.yaml").is_file());
    projects.sort();
    for path in projects {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        all.push(Candidate { name, component: build(&path, &sandbox) });
    }
    Ok(all)
}

fn build(path: &Path, sandbox: &Sandbox) -> std::result::Result<Vec<u8>, String> {
    let project = Project::open(path).map_err(|error| error.to_string())?;
    let module = project.module();
    if let Err(error) = plumbline_author::build(&project, sandbox, &mut |line| eprintln!("{line}")) {
        if !module.is_file() {
            return Err(error.to_string());
        }
        println!("{}: as it was built before: {error}", module.display());
    }
    fs::read(&module).map_err(|error| error.to_string())
}

fn config(cache_dir: Option<PathBuf>) -> SandboxConfig {
    SandboxConfig { cache_dir, max_memory: MEMORY, ..SandboxConfig::default() }
}

struct Inputs {
    large: Arc<[u8]>,
    cases: u64,
    small: Arc<[u8]>,
    few: u64,
}

fn row(component: &[u8], inputs: &Inputs, runs: usize) -> Result<Row> {
    let times = |mut once: Box<dyn FnMut() -> Result<f64> + '_>| -> Result<f64> {
        let (begin, mut all) = (Instant::now(), Vec::new());
        while all.len() < runs && (all.is_empty() || begin.elapsed() < PATIENCE) {
            all.push(once()?);
        }
        Ok(median(&all))
    };
    let load = |cache: Option<PathBuf>| -> Result<(f64, Module)> {
        // Create a new sandbox each time, so that only the disk cache is warm.
        let sandbox = Sandbox::new(config(cache))?;
        let start = Instant::now();
        let module = sandbox.load("junit", component)?;
        Ok((start.elapsed().as_secs_f64(), module))
    };
    let compile = times(Box::new(|| Ok(load(None)?.0)))?;
    let cache = tempfile::tempdir()?;
    let cache = cache.path().join("modules");
    load(Some(cache.clone()))?;
    let cached = times(Box::new(|| Ok(load(Some(cache.clone()))?.0)))?;
    let (_, module) = load(Some(cache))?;

    let empty = times(Box::new(|| {
        mean(100, PATIENCE / 10, || {
            called(&module, Vec::new())?;
            Ok(())
        })
    }))?;
    let mut memory = 0;
    let large = times(Box::new(|| {
        let called = checked(called(&module, vec![Arc::clone(&inputs.large)]), inputs.cases)?;
        memory = memory.max(called.stats.memory);
        Ok(called.seconds)
    }));
    let large = large.map_err(|error| error.to_string()).map(|seconds| Large { seconds, memory });
    let each = mean(SMALL, PATIENCE, || {
        checked(called(&module, vec![Arc::clone(&inputs.small)]), inputs.few)?;
        Ok(())
    });
    let all = checked(called(&module, vec![Arc::clone(&inputs.small); SMALL]), inputs.few * SMALL as u64);
    Ok(Row {
        component: component.len(),
        compile,
        cached,
        empty,
        large,
        each: each.map_err(|error| error.to_string()),
        all: all.map(|called| called.seconds / SMALL as f64).map_err(|error| error.to_string()),
    })
}

/// Returns the mean time of `calls` calls in seconds, or of those that fit into `patience`.
fn mean(calls: usize, patience: Duration, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let (start, mut done) = (Instant::now(), 0);
    while done < calls && start.elapsed() <= patience {
        call()?;
        done += 1;
    }
    Ok(start.elapsed().as_secs_f64() / done.max(1) as f64)
}

/// Makes one call in a fresh instance, with limits that every runtime stays within.
fn called(module: &Module, files: Vec<Arc<[u8]>>) -> Result<Called> {
    let files = files.into_iter().enumerate().map(|(n, bytes)| InputFile {
        path: format!("results/global/junit_{n:05}.xml"),
        size: bytes.len() as u64,
        open: Box::new(move || Ok(Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>)),
    });
    let limits = ModuleLimits { memory: MEMORY, wall_seconds: WALL_SECONDS, ..ModuleLimits::default() };
    call(module, files.collect(), &limits)
}

/// Checks the number of items: a module that drops test cases would be fast for the wrong reason.
fn checked(called: Result<Called>, cases: u64) -> Result<Called> {
    let called = called?;
    if called.items < cases {
        return Err(format!("{} items for {cases} test cases", called.items).into());
    }
    Ok(called)
}

fn cells(name: &str, row: &Row, megabytes: u64, base: Option<f64>) -> [String; 9] {
    let seconds = |seconds: f64| match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    };
    let or = |result: &std::result::Result<f64, String>| match result {
        Ok(value) => seconds(*value),
        Err(reason) => reason.clone(),
    };
    let (large, ratio) = match &row.large {
        Ok(Large { seconds: took, memory }) => (
            format!("{}, {:.0} MB/s, {} MiB", seconds(*took), megabytes as f64 / took, memory >> 20),
            base.map_or_else(String::new, |base| format!("{:.1} ×", took / base)),
        ),
        Err(reason) => (reason.clone(), String::new()),
    };
    [
        name.to_owned(),
        format!("{:.1} MiB", row.component as f64 / f64::from(1 << 20)),
        seconds(row.compile),
        seconds(row.cached),
        seconds(row.empty),
        large,
        ratio,
        or(&row.each),
        or(&row.all),
    ]
}
