//! Waiting for the done file.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::file::{DONE_FILE, DoneError, look, read};
use super::protocol::{AfterLook, AfterRead, Protocol, Timing};

/// How long the results directory may be away before nobody waits for it any more. A plugin may make it anew; that it stays away means that
/// its run was removed, on a machine where nobody ended the worker with it.
const AWAY: Duration = Duration::from_secs(60);

/// Waits until the plugin has finished, and gives what it wants to have sent, as written. Looks at once, then every
/// [`Timing::poll`]; a done file must have stayed for [`Timing::settle`] before it is read. Waits for ever, unless the results directory is
/// taken away: the caller bounds it.
///
/// Polling, because a look once a second costs nothing, while change notification does not work on all file systems that a results
/// directory may lie on. The looks are made on the async thread: they are single system calls on a local file system, and a worker
/// has nothing better to do.
///
/// # Errors
/// [`DoneError`]: the file is there, and cannot be used; or its directory is gone.
pub async fn wait_for_done(results_dir: &Path, timing: Timing) -> Result<String, DoneError> {
    let path = results_dir.join(DONE_FILE);
    let mut protocol = Protocol::new(timing);
    let mut complained = false;
    let mut seen = false;
    let (mut was_there, mut away) = (false, None);
    loop {
        if results_dir.exists() {
            (was_there, away) = (true, None);
        } else if was_there && away.get_or_insert_with(Instant::now).elapsed() >= AWAY {
            return Err(DoneError::Gone { path: results_dir.to_owned() });
        }
        let there = match look(&path) {
            Ok(there) => there.is_some(),
            Err(error) => {
                // May heal: a plugin may still change owner or mode of the directory.
                if !complained {
                    tracing::warn!(file = %path.display(), %error, "cannot see whether the done file is there");
                }
                complained = true;
                false
            }
        };
        if there != seen {
            seen = there;
            if there {
                tracing::info!(file = %path.display(), delay = ?timing.settle, "done file found");
            } else {
                tracing::info!(file = %path.display(), "done file was taken away; waiting for it to come back");
            }
        }
        let pause = match protocol.looked(there) {
            AfterLook::Sleep(time) => time,
            AfterLook::Read => match protocol.read(read(&path)?) {
                AfterRead::Sleep(time) => time,
                AfterRead::Submit(named) => return Ok(named),
                AfterRead::GiveUp => return Err(DoneError::Empty { path }),
            },
        };
        tokio::time::sleep(pause).await;
    }
}
