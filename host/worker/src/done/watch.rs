//! Waits for the done file.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::file::{DONE_FILE, DoneError, look, read};
use super::protocol::{AfterLook, AfterRead, Protocol, Timing};

/// How long the results directory may be missing before waiting ends.
///
/// A plugin may recreate it. If it stays missing, its run was removed on a machine where nobody
/// stopped the worker.
const AWAY: Duration = Duration::from_secs(60);

/// Waits until the plugin has finished, and returns the path to send as written in the done file.
///
/// Checks at once, then every [`Timing::poll`]. A done file must exist for [`Timing::settle`]
/// before it is read. Waits without limit, unless the results directory is removed. The caller sets
/// a limit.
///
/// This polls, because a check per second costs nothing, and change notification does not work on
/// every file system. The checks run on the async thread. They are single system calls on a local
/// file system, and the worker has nothing else to do.
///
/// # Errors
/// Returns [`DoneError`] if the file exists but is unusable, or if its directory is gone.
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
                // This may recover, because a plugin may still change owner or mode of the
                // directory.
                if !complained {
                    tracing::warn!(file = %path.display(), %error, "failed to check for the done file");
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
