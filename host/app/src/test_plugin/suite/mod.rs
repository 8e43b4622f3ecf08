//! A stand-in for the image of the conformance suite: it has the same variables, reports, log,
//! archive and done file.
//!
//! [`settings`] reads the variables, [`mod@plan`] decides the outcome of every test, and [`reports`]
//! and [`progress`] write what the suite writes.

mod plan;
mod progress;
mod reports;
mod settings;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use plumbline_archive::pack::{PackOptions, pack_directory};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::{FakeSuiteOptions, TERMINATED, results};
use crate::context::Context;
use crate::error::AppError;
use crate::runtime::one_thread;

use plan::{Case, Counts, Fate, counts, plan};
use progress::ProgressReporter;
use reports::{LOG_FILE, Log};
use settings::Settings;

/// The exit code of a Go program that panics.
const CRASHED: u8 = 2;

/// Runs the stand-in, whose log also goes to `log`. Returns its exit code.
///
/// # Errors
/// An option is invalid, or the results cannot be written.
pub fn fake_suite(context: &Context, options: &FakeSuiteOptions, log: &mut (dyn Write + Send)) -> Result<u8, AppError> {
    let settings = Settings::of(context, options)?;
    fs::create_dir_all(&options.results_dir).map_err(results::cannot("create", &options.results_dir))?;
    let dir = std::path::absolute(&options.results_dir).map_err(results::cannot("find", &options.results_dir))?;
    let cases = plan(&settings, options.test_time);
    let runtime = one_thread()?;
    let played = runtime.block_on(async {
        // The first process of a container only gets signals that it handles.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("signals cannot be caught").because(&error))?;
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

/// Runs the tests. Returns an exit code if it crashes.
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
            context.reporter.progress("test-plugin: crashes, as it was told to");
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

/// Writes the report, packs the directory, and writes the done file.
fn save(cases: &[Case], settings: &Settings, dir: &Path) -> Result<(), AppError> {
    let report = dir.join(reports::JUNIT_FILE);
    let written = File::create(&report).and_then(|file| {
        let mut out = BufWriter::new(file);
        reports::write_junit(cases, settings, Timestamp::now(), &mut out)?;
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
