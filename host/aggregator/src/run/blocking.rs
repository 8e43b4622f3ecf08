//! Work on threads that may block, and waiting for disk space: a disk that is full for a while delays
//! a run, but does not end it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use plumbline_archive::disk::Disk;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::settings::RunError;
use crate::journal::lacks_space;
use crate::reserve::Reserve;

/// Delay between attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a run waits for space before it gives up: 10 min, as the journal does.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs `work` on a thread that may block. `what` completes "failed to …" if it panics.
pub(super) async fn blocking<T, E>(
    what: &str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, RunError>
where
    T: Send + 'static,
    E: Send + 'static,
    RunError: From<E>,
{
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| RunError::io(what)(error.into()))??)
}

/// Writes `document` to `path`, and creates its directory. `what` completes "failed to …".
pub(super) fn write_document(disk: &Disk, path: &Path, document: &Value, what: &str) -> Result<(), RunError> {
    let parent = path.parent().map_or(Ok(()), |parent| disk.create_directories(parent));
    let written = parent.and_then(|()| disk.replace(path, document.to_string().as_bytes(), 0o644));
    written.map_err(RunError::io(what))
}

/// Runs `work` on a thread that may block. On a full disk, each attempt is repeated while `reserve`
/// is released, until there is space. `what` completes "no space to …". An interrupted run does not
/// wait.
///
/// # Errors
/// The error of `work`, if more space would not help or the time is up.
pub(super) async fn with_space<T: Send + 'static>(
    what: &str,
    reserve: &Reserve,
    cancel: &CancellationToken,
    work: impl Fn() -> Result<T, RunError> + Send + Sync + 'static,
) -> Result<T, RunError> {
    let work = Arc::new(work);
    let start = Instant::now();
    let mut reported = false;
    loop {
        let (work, reserve) = (Arc::clone(&work), reserve.clone());
        let error = match blocking(what, move || attempt(&*work, &reserve)).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if !lacks_space(&error) || start.elapsed() > PATIENCE || cancel.is_cancelled() {
            return Err(error);
        }
        if !reported {
            tracing::error!("no disk space to {what}, waiting for space: {error}");
            reported = true;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = cancel.cancelled() => {}
        }
    }
}

/// Runs `work`. If the disk is full, runs it again while the reserve is released.
fn attempt<T>(work: &impl Fn() -> Result<T, RunError>, reserve: &Reserve) -> Result<T, RunError> {
    let result = work();
    if !result.as_ref().is_err_and(|error| lacks_space(error)) {
        return result;
    }
    // Dropped on this thread, because that can block.
    let _released = reserve.release();
    work()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn full() -> RunError {
        RunError::Io { what: "write".to_owned(), source: io::ErrorKind::StorageFull.into() }
    }

    fn reserve(dir: &tempfile::TempDir) -> Reserve {
        Reserve::create(&Disk::default(), dir.path().join("reserve"))
    }

    #[tokio::test(start_paused = true)]
    async fn space_that_comes_back_is_used() {
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&calls);
        let work = move || if seen.fetch_add(1, Ordering::Relaxed) < 3 { Err(full()) } else { Ok(7) };
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(with_space("write", &reserve(&dir), &CancellationToken::new(), work).await.unwrap(), 7);
        assert_eq!(calls.load(Ordering::Relaxed), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn the_reserve_is_there_again_while_the_run_waits_for_space() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reserve");
        let calls = AtomicUsize::new(0);
        // The third call starts the second attempt.
        let work = move || if calls.fetch_add(1, Ordering::Relaxed) < 2 { Err(full()) } else { Ok(path.exists()) };
        assert!(with_space("write", &reserve(&dir), &CancellationToken::new(), work).await.unwrap());
    }

    #[tokio::test]
    async fn an_interrupted_run_and_another_failure_do_not_wait() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let dir = tempfile::tempdir().unwrap();
        let reserve = reserve(&dir);
        assert!(with_space("write", &reserve, &cancel, || Err::<(), _>(full())).await.is_err());
        let denied =
            || Err::<(), _>(RunError::Io { what: "write".to_owned(), source: io::ErrorKind::PermissionDenied.into() });
        assert!(with_space("write", &reserve, &CancellationToken::new(), denied).await.is_err());
    }

    #[tokio::test]
    async fn the_reserve_is_used_before_the_run_waits_for_space() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = reserve(&dir);
        let path = dir.path().join("reserve");
        assert!(path.exists());
        let seen = path.clone();
        let work = move || if seen.exists() { Err(full()) } else { Ok(7) };
        let cancel = CancellationToken::new();
        // An interrupted run does not wait, and still has the reserve.
        cancel.cancel();
        assert_eq!(with_space("write", &reserve, &cancel, work).await.unwrap(), 7);
        assert!(path.exists(), "it is there again");
    }
}
