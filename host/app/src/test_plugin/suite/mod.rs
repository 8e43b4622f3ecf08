//! A stand-in for the image of the conformance suite: it has the same variables, reports, log,
//! archive and done file.

mod output;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_archive::pack::{PackOptions, pack_directory};
use plumbline_conformance::lists::{
    GoRegex, Selection, TestList, alternatives, embedded_for, is_suite_node, plain_name, read_file,
};
use plumbline_core::go_quote;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::context::Context;
use crate::error::AppError;
use crate::runtime::one_thread;
use crate::test_plugin::suite::output::{LOG_FILE, Log, ProgressReporter};
use crate::test_plugin::{FakeSuiteOptions, TERMINATED, results};

/// The exit code of a Go program that panics.
const CRASHED: u8 = 2;

/// Runs the stand-in, whose log also goes to `log`. Returns its exit code.
pub fn fake_suite(context: &Context, options: &FakeSuiteOptions, log: &mut (dyn Write + Send)) -> Result<u8, AppError> {
    let settings = Settings::of(context, options)?;
    fs::create_dir_all(&options.results_dir).map_err(results::cannot("create", &options.results_dir))?;
    let dir = std::path::absolute(&options.results_dir).map_err(results::cannot("find", &options.results_dir))?;
    let cases = plan(&settings, options.test_time);
    let runtime = one_thread()?;
    let played = runtime.block_on(async {
        // The first process of a container only gets signals that it handles.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("failed to handle signals").because(&error))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => Ok(Some(TERMINATED)),
            played = play(context, &settings, &cases, options, &dir, log) => played,
        }
    })?;
    if let Some(code) = played {
        return Ok(code);
    }
    save(&cases, &settings, &dir)?;
    let counts = counts(&cases);
    context.reporter.progress(&format!("test-plugin: done, {} of {} tests failed", counts.failed, counts.selected()));
    Ok(if counts.failed > 0 { options.exit } else { 0 })
}

async fn play(
    context: &Context,
    settings: &Settings,
    cases: &[Case],
    options: &FakeSuiteOptions,
    dir: &Path,
    container: &mut (dyn Write + Send),
) -> Result<Option<u8>, AppError> {
    let path = dir.join(LOG_FILE);
    let mut log = Log::create(dir, container).map_err(results::cannot("write", &path))?;
    let all = counts(cases);
    let mut progress = ProgressReporter::new(context, settings.progress_url.as_deref(), all.selected());
    log.begin(settings, all).map_err(results::cannot("write", &path))?;
    progress.begin().await;
    let mut so_far = Counts::default();
    for case in cases.iter().filter(|case| !case.node) {
        if options.crash_after.is_some_and(|after| so_far.selected() >= after) {
            log.crash().map_err(results::cannot("write", &path))?;
            context.reporter.progress("test-plugin: crashes as configured");
            return Ok(Some(CRASHED));
        }
        if case.fate != Fate::Skipped && !settings.dry_run {
            sleep(options.test_time.unwrap_or_default()).await;
        }
        so_far.add(case.fate);
        log.case(case).map_err(results::cannot("write", &path))?;
        if case.fate != Fate::Skipped {
            progress.case(case, so_far).await;
        }
    }
    log.end(cases, all).map_err(results::cannot("write", &path))?;
    progress.end(all).await;
    Ok(None)
}

/// The archive that is sent.
const ARCHIVE: &str = "e2e.tar.gz";

fn save(cases: &[Case], settings: &Settings, dir: &Path) -> Result<(), AppError> {
    let report = dir.join(output::JUNIT_FILE);
    let written = File::create(&report).and_then(|file| {
        let mut out = BufWriter::new(file);
        output::write_junit(cases, settings, Timestamp::now(), &mut out)?;
        out.flush()
    });
    written.map_err(results::cannot("write", &report))?;
    let archive = dir.join(ARCHIVE);
    // Written in place, so that workers of other users can read it. The done file names it once it
    // is complete.
    let file = File::create(&archive).map_err(results::cannot("write", &archive))?;
    let options = PackOptions { exclude: vec![archive.clone()], ..PackOptions::single_threaded() };
    pack_directory(dir, file, &options, &mut || false)
        .map_err(|error| AppError::system(format!("failed to pack `{}`", dir.display())).because(&error))?;
    results::done(dir, &archive)
}

/// The default skip of parallel runs.
const SERIAL: &str = r"\[Serial\]";
/// The argument of the suite with the URL for progress.
const PROGRESS_URL: &str = "--progress-report-url=";

pub(super) struct Settings {
    /// All tests.
    pub(super) list: TestList,
    /// The focus.
    pub(super) focus: String,
    /// The skip.
    pub(super) skip: String,
    /// The tests that run.
    pub(super) selection: Selection,
    /// The tests that fail.
    pub(super) fail: Option<GoRegex>,
    /// The tests that fail until they run again.
    pub(super) flaky: Option<GoRegex>,
    /// Whether tests run in parallel.
    pub(super) parallel: bool,
    /// Whether no test runs.
    pub(super) dry_run: bool,
    /// The URL for progress.
    pub(super) progress_url: Option<String>,
}

impl Settings {
    pub(super) fn of(context: &Context, options: &FakeSuiteOptions) -> Result<Self, AppError> {
        let parallel = matches!(options.parallel.as_str(), "y" | "Y" | "true");
        let skip = if parallel && options.skip.is_empty() { SERIAL.to_owned() } else { options.skip.clone() };
        // Like the image, an empty variable is not set.
        let focus = if options.focus.is_empty() { r"\[Conformance\]".to_owned() } else { options.focus.clone() };
        let selection = Selection::parse(Some(&focus), Some(&skip)).map_err(|(what, error)| {
            AppError::usage(format!("the {what} is not a valid Go regular expression")).because(&error)
        })?;
        let expression = |variable: &str, text: &str| {
            let compiled = (!text.is_empty()).then(|| GoRegex::new(text)).transpose();
            compiled
                .map_err(|error| AppError::usage(format!("`{variable}` is not a regular expression")).because(&error))
        };
        let separator = if options.extra_args_sep.is_empty() { " " } else { &options.extra_args_sep };
        let progress_url = options.extra_args.split(separator).find_map(|arg| arg.trim().strip_prefix(PROGRESS_URL));
        let silent = !options.no_progress.is_empty();
        Ok(Self {
            list: list(context, options)?,
            selection,
            fail: expression("FAKE_E2E_FAIL", &options.fail)?,
            flaky: expression("FAKE_E2E_FLAKY", &options.flaky)?,
            parallel,
            dry_run: !options.dry_run.is_empty(),
            progress_url: progress_url.filter(|_| !silent).map(str::to_owned),
            focus,
            skip,
        })
    }
}

/// The list of the options, or that of the cluster's version, or the latest one.
fn list(context: &Context, options: &FakeSuiteOptions) -> Result<TestList, AppError> {
    let failed = |error| AppError::usage("no tests to simulate").because(&error);
    if let Some(path) = &options.list {
        return read_file(path).map_err(failed);
    }
    if let Some(version) = &options.list_version {
        return embedded_for(Some(version)).map_err(failed);
    }
    let cluster = Some(options.cluster_version.as_str()).filter(|version| !version.is_empty());
    match embedded_for(cluster) {
        Ok(list) => Ok(list),
        // The names of another version suffice, because the cluster does not run them.
        Err(error) => {
            context.reporter.progress(&format!("test-plugin: {error}: using the latest instead"));
            embedded_for(None).map_err(failed)
        }
    }
}

/// The setup nodes that the suite reports.
const NODES: [&str; 4] = [
    "[ReportBeforeSuite]",
    "[SynchronizedBeforeSuite]",
    "[SynchronizedAfterSuite]",
    "[ReportAfterSuite] Kubernetes e2e suite report",
];
/// The prefix of the names of nodes that write reports.
const REPORT: &str = "[Report";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Skipped,
    Passed,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    /// The name.
    pub(super) name: String,
    /// Whether it is a setup node, which is not counted and not in the log.
    pub(super) node: bool,
    pub(super) fate: Fate,
    /// The duration.
    pub(super) time: Duration,
}

/// The number of tests with each outcome, without setup nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) skipped: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
}

impl Counts {
    pub(super) fn selected(self) -> usize {
        self.passed + self.failed
    }

    pub(super) fn total(self) -> usize {
        self.selected() + self.skipped
    }

    pub(super) fn add(&mut self, fate: Fate) {
        match fate {
            Fate::Skipped => self.skipped += 1,
            Fate::Passed => self.passed += 1,
            Fate::Failed => self.failed += 1,
        }
    }
}

/// Decides the outcome of every test of the list. `test_time` is the duration of each. By default,
/// it is made of the name, and the same in every run.
pub(super) fn plan(settings: &Settings, test_time: Option<Duration>) -> Vec<Case> {
    // A focus with the whole name of a test is that of a rerun.
    let named: BTreeSet<&str> = alternatives(&settings.focus).map(plain_name).collect();
    let case = |name: &str| {
        let node = is_suite_node(name);
        let again = || named.contains(go_quote(name).as_str());
        let fails = || settings.fail.as_ref().is_some_and(|fail| fail.is_match(name));
        let flakes = || settings.flaky.as_ref().is_some_and(|flaky| flaky.is_match(name)) && !again();
        let fate = match () {
            () if node => Fate::Passed,
            () if !settings.selection.runs(name) => Fate::Skipped,
            () if !settings.dry_run && (fails() || flakes()) => Fate::Failed,
            () => Fate::Passed,
        };
        let time = match fate {
            Fate::Skipped => Duration::ZERO,
            _ if settings.dry_run || node => Duration::ZERO,
            _ => test_time.unwrap_or_else(|| pretended(name)),
        };
        Case { name: name.to_owned(), node, fate, time }
    };
    let mut cases: Vec<Case> = NODES.into_iter().chain(settings.list.specs()).map(case).collect();
    if counts(&cases).selected() == 0 {
        // Without tests, only the nodes that write reports run.
        cases.retain(|case| !case.node || case.name.starts_with(REPORT));
    }
    cases
}

pub(super) fn counts(cases: &[Case]) -> Counts {
    let mut counts = Counts::default();
    cases.iter().filter(|case| !case.node).for_each(|case| counts.add(case.fate));
    counts
}

/// A duration between 50 ms and 30 s, as of most tests of the suite. FNV-1a gives the same one
/// everywhere.
fn pretended(name: &str) -> Duration {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    Duration::from_millis(50 + (hash >> 16) % 29_950)
}
