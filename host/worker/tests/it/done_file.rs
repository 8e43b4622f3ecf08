//! When a done file is read, with simulated time.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plumbline_worker::{GatherError, Timing, wait_for_done};
use tokio::time::Instant;

const SETTLE: Duration = Duration::from_secs(5);

fn waiting(dir: &Path) -> tokio::task::JoinHandle<(Result<String, GatherError>, Duration)> {
    let (dir, start) = (dir.to_owned(), Instant::now());
    tokio::spawn(async move { (wait_for_done(&dir, Timing::with_settle(SETTLE)).await, start.elapsed()) })
}

async fn seconds(seconds: f32) {
    tokio::time::sleep(Duration::from_secs_f32(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_done_file_that_is_there_already_is_seen_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("done"), "/tmp/results/x\n").unwrap();
    let (named, after) = waiting(dir.path()).await.unwrap();
    assert_eq!(named.unwrap(), "/tmp/results/x");
    assert_eq!(after.as_secs(), SETTLE.as_secs());
}

/// Returns when a file was last changed.
fn changed(path: &Path) -> Timestamp {
    let metadata = path.metadata().unwrap();
    Timestamp::new(metadata.ctime(), metadata.ctime_nsec().try_into().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_done_file_of_an_earlier_run_does_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    std::fs::write(&done, "old").unwrap();
    let oldest = changed(&done) + SignedDuration::from_nanos(1);
    let timing = Timing { oldest: Some(oldest), ..Timing::with_settle(SETTLE) };
    let results_dir = dir.path().to_owned();
    let task = tokio::spawn(async move { wait_for_done(&results_dir, timing).await });
    seconds(600.0).await;
    assert!(!task.is_finished());
    // The clocks of file systems are coarse.
    while changed(&done) < oldest {
        std::fs::write(&done, "new").unwrap();
    }
    assert_eq!(task.await.unwrap().unwrap(), "new");
}

#[tokio::test(start_paused = true)]
async fn a_late_done_file_is_seen_within_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let task = waiting(dir.path());
    seconds(3600.5).await;
    std::fs::write(dir.path().join("done"), "x").unwrap();
    let (named, after) = task.await.unwrap();
    assert_eq!(named.unwrap(), "x");
    assert!((3605..=3607).contains(&after.as_secs()), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_sidecar_may_remove_the_file_and_write_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let task = waiting(dir.path());
    std::fs::write(&done, "unfinished").unwrap();
    seconds(3.5).await;
    std::fs::remove_file(&done).unwrap();
    seconds(600.0).await;
    assert!(!task.is_finished());
    std::fs::write(&done, "finished").unwrap();
    let (named, after) = task.await.unwrap();
    assert_eq!(named.unwrap(), "finished");
    // The delay starts again when the file comes back.
    assert!(after >= Duration::from_secs(603) + SETTLE, "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_during_the_delay_counts() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let task = waiting(dir.path());
    std::fs::write(&done, "first").unwrap();
    seconds(4.0).await;
    std::fs::write(&done, "second").unwrap();
    assert_eq!(task.await.unwrap().0.unwrap(), "second");
}

#[tokio::test(start_paused = true)]
async fn a_results_directory_may_come_later() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("results");
    let task = waiting(&dir);
    seconds(10.0).await;
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("done"), "x").unwrap();
    assert_eq!(task.await.unwrap().0.unwrap(), "x");
}

#[tokio::test(start_paused = true)]
async fn an_empty_done_file_gets_time_to_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let task = waiting(dir.path());
    std::fs::write(&done, "").unwrap();
    seconds(10.0).await;
    std::fs::write(&done, "x").unwrap();
    assert_eq!(task.await.unwrap().0.unwrap(), "x");

    std::fs::write(&done, "\n").unwrap();
    let (error, after) = waiting(dir.path()).await.unwrap();
    assert!(matches!(error, Err(GatherError::Empty(_))), "{error:?}");
    assert_eq!(after.as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_results_directory_that_is_taken_away_ends_the_wait() {
    let dir = tempfile::tempdir().unwrap();
    let results = dir.path().join("results");
    std::fs::create_dir(&results).unwrap();
    let task = waiting(&results);
    seconds(5.0).await;
    // A recreated directory is as good as the old one.
    std::fs::remove_dir(&results).unwrap();
    seconds(30.0).await;
    std::fs::create_dir(&results).unwrap();
    seconds(120.0).await;
    assert!(!task.is_finished());
    std::fs::remove_dir(&results).unwrap();
    let (error, _) = task.await.unwrap();
    assert!(matches!(error, Err(GatherError::Gone(_))), "{error:?}");
}
