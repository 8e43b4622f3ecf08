//! A simulation of the image of the conformance suite.

mod output;
mod plan;

use std::fs;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use plumbline_dev::Result;
use tokio::time::sleep;

use crate::plugin::common::{cannot, done, pack, say, until_terminated, write_file};
use output::{JUNIT_FILE, LOG_FILE, Log, ProgressReporter, write_junit};
use plan::{Case, Counts, Fate, Settings, counts, plan};

pub(crate) use plan::SuiteOptions;

/// The exit code of a Go program that panics.
const CRASHED: u8 = 2;
const ARCHIVE: &str = "e2e.tar.gz";

/// Runs the simulation, whose log also goes to `log`. Returns its exit code.
pub(crate) fn simulate_suite(options: &SuiteOptions, log: &mut dyn Write) -> Result<u8> {
    let settings = Settings::of(options)?;
    fs::create_dir_all(&options.results_dir).map_err(cannot("create", &options.results_dir))?;
    let dir = std::path::absolute(&options.results_dir).map_err(cannot("find", &options.results_dir))?;
    let mut cases = plan(&settings, options.test_time);
    let suite = async {
        if !play(&settings, &mut cases, options, &dir, log).await? {
            say("test-plugin: crashes as configured");
            return Ok(Some(CRASHED));
        }
        save(&cases, &settings, &dir)?;
        let counts = counts(&cases);
        say(format_args!("test-plugin: done, {} of {} tests failed", counts.failed, counts.selected()));
        Ok(Some(if counts.failed > 0 { options.exit } else { 0 }))
    };
    until_terminated(suite, 0)
}

/// Writes the log and posts progress, at the pace of the tests. Returns `false` for a crash.
async fn play(
    settings: &Settings,
    cases: &mut [Case],
    options: &SuiteOptions,
    dir: &Path,
    container: &mut dyn Write,
) -> Result<bool> {
    let path = dir.join(LOG_FILE);
    let mut log = Log::create(&path, container).map_err(cannot("write", &path))?;
    let all = counts(cases);
    let mut progress = ProgressReporter::new(settings.progress_url.as_deref(), all.selected());
    log.begin(settings, all).map_err(cannot("write", &path))?;
    progress.begin().await;
    let mut so_far = Counts::default();
    for case in cases.iter_mut().filter(|case| !case.node) {
        if options.crash_after.is_some_and(|after| so_far.selected() >= after) {
            log.crash().map_err(cannot("write", &path))?;
            return Ok(false);
        }
        if case.fate != Fate::Skipped && !settings.dry_run {
            // The durations of a suite that takes no time are invented.
            case.started = options.test_time.map(|_| Timestamp::now());
            sleep(options.test_time.unwrap_or_default()).await;
        }
        so_far.add(case.fate);
        log.case(case, &settings.reason).map_err(cannot("write", &path))?;
        if case.fate != Fate::Skipped {
            progress.case(case, so_far).await;
        }
    }
    log.end(cases, all).map_err(cannot("write", &path))?;
    progress.end(all).await;
    Ok(true)
}

/// Writes the report, the archive and the done file.
fn save(cases: &[Case], settings: &Settings, dir: &Path) -> Result<()> {
    write_file(&dir.join(JUNIT_FILE), |out| write_junit(cases, settings, Timestamp::now(), out))?;
    let archive = dir.join(ARCHIVE);
    pack(dir, &archive)?;
    done(dir, &archive)
}
