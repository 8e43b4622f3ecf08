//! Plays the suite.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use plumbline_app::AppError;
use plumbline_app::runtime::one_thread;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::super::deliver;
use super::log::{FILE, Log};
use super::plan::{Case, Counts, Fate, counts, plan};
use super::progress::Reporter;
use super::save::save;
use super::settings::Settings;
use crate::args::{Crash, FakeE2eArgs};
use crate::ui::say;

/// The code of a shell for what SIGTERM ended: 128 and its number.
const TERMINATED: u8 = 143;
/// The code of a Go program that panics.
const CRASHED: u8 = 2;

/// Plays the suite; its exit code.
pub(crate) fn suite(args: &FakeE2eArgs) -> Result<ExitCode, AppError> {
    let settings = Settings::of(args)?;
    fs::create_dir_all(&args.results_dir).map_err(deliver::cannot("create", &args.results_dir))?;
    let dir = std::path::absolute(&args.results_dir).map_err(deliver::cannot("find", &args.results_dir))?;
    let cases = plan(&settings, args.test_time);
    let runtime = one_thread()?;
    let played = runtime.block_on(async {
        // The first process of a container hears of SIGTERM only if it asks for it.
        let mut terminate = signal(SignalKind::terminate())
            .map_err(|error| AppError::system("signals cannot be caught").because(&error))?;
        tokio::select! {
            biased;
            _ = terminate.recv() => Ok(Some(TERMINATED)),
            played = play(&settings, &cases, args.test_time, args.crash, &dir) => played,
        }
    })?;
    if let Some(code) = played {
        return Ok(ExitCode::from(code));
    }
    save(&cases, &settings, &dir)?;
    let counts = counts(&cases);
    say(&format!("test-plugin: done, {} of {} tests failed", counts.failed, counts.selected()));
    Ok(if counts.failed > 0 { ExitCode::from(args.exit) } else { ExitCode::SUCCESS })
}

/// Goes through the tests; an exit code if that ends here.
async fn play(
    settings: &Settings,
    cases: &[Case],
    test_time: Option<Duration>,
    crash: Option<Crash>,
    dir: &Path,
) -> Result<Option<u8>, AppError> {
    let path = dir.join(FILE);
    let mut log = Log::create(dir).map_err(deliver::cannot("write", &path))?;
    let all = counts(cases);
    let mut progress = Reporter::new(settings.progress_url.as_deref(), all.selected());
    log.begin(settings, all).map_err(deliver::cannot("write", &path))?;
    progress.begin().await;
    let mut so_far = Counts::default();
    for case in cases.iter().filter(|case| !case.node) {
        if crash.is_some_and(|crash| so_far.selected() >= crash.after) {
            log.crash().map_err(deliver::cannot("write", &path))?;
            say("test-plugin: crashes, as it was told to");
            return Ok(Some(CRASHED));
        }
        if case.fate != Fate::Skipped && !settings.dry_run {
            sleep(test_time.unwrap_or_default()).await;
        }
        so_far.add(case.fate);
        log.case(case).map_err(deliver::cannot("write", &path))?;
        if case.fate != Fate::Skipped {
            progress.case(case, so_far).await;
        }
    }
    log.end(cases, all).map_err(deliver::cannot("write", &path))?;
    progress.end(all).await;
    Ok(None)
}
