//! The done file, by which a plugin says that it has finished, and what to send (docs/protocol.md,
//! "Done file"). A plugin writes it, so it is untrusted.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use plumbline_archive::atomic::AtomicFile;
use rustix::fs::OFlags;
use tokio::time::Instant;

use crate::error::GatherError;

/// The name of the done file in the results directory.
pub const DONE_FILE: &str = "done";

/// Maximum size of a done file in bytes: 4 KiB, the longest path on Linux.
pub const MAX_DONE_BYTES: u64 = 4096;

/// How long the results directory may be missing before waiting ends.
///
/// A plugin may recreate it.
const AWAY: Duration = Duration::from_secs(60);

/// The times of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Interval between checks. The default is 1 s, and a check costs one system call.
    pub poll: Duration,
    /// How long the file must exist before it is read. A sidecar may remove it in this time.
    pub settle: Duration,
    /// How often an empty file is checked again before it counts as an error.
    ///
    /// The default is 10. A shell creates the file before it writes to it.
    pub empty_looks: u32,
    /// A done file that was last changed before this time is that of an earlier run. `None` accepts
    /// any. The results directory can be a volume that outlives the pod.
    pub oldest: Option<Timestamp>,
}

impl Timing {
    /// Returns the default intervals with this settle delay.
    #[must_use]
    pub fn with_settle(settle: Duration) -> Self {
        Self { poll: Duration::from_secs(1), settle, empty_looks: 10, oldest: None }
    }
}

/// Waits until the plugin has finished, and returns the path to send as written in the done file.
///
/// Checks at once, because the worker may have been restarted after the plugin ended, then every
/// [`Timing::poll`]. A done file must exist for [`Timing::settle`] before it is read. Waits without
/// limit, unless the results directory is removed. The caller sets a limit.
///
/// This polls, because change notification does not work on every file system. A check is a single
/// system call.
///
/// # Errors
/// Returns [`GatherError`] if the file exists but is unusable, or if its directory is gone.
pub async fn wait_for_done(results_dir: &Path, timing: Timing) -> Result<String, GatherError> {
    let path = results_dir.join(DONE_FILE);
    let (mut complained, mut refused) = (false, false);
    let mut seen = false;
    // How often the file was read and was empty, or `None` before the settle delay.
    let mut empty: Option<u32> = None;
    let (mut was_there, mut away) = (false, None);
    loop {
        if results_dir.exists() {
            (was_there, away) = (true, None);
        } else if was_there && away.get_or_insert_with(Instant::now).elapsed() >= AWAY {
            return Err(GatherError::Gone(results_dir.to_owned()));
        }
        let found = look(&path, timing.oldest).unwrap_or_else(|error| {
            // A plugin may still change owner or mode of the directory.
            if !std::mem::replace(&mut complained, true) {
                tracing::warn!(file = %path.display(), %error, "failed to check for the done file");
            }
            Found::Nothing
        });
        if matches!(found, Found::Stale) && !std::mem::replace(&mut refused, true) {
            tracing::warn!(file = %path.display(), "ignored the done file of an earlier run; waiting for a new one");
        }
        let there = matches!(found, Found::File(_));
        if there != std::mem::replace(&mut seen, there) {
            if there {
                tracing::info!(file = %path.display(), delay = ?timing.settle, "done file found");
            } else {
                tracing::info!(file = %path.display(), "done file was removed; waiting for a new one");
            }
        }
        let pause = match empty {
            _ if !there => {
                empty = None;
                timing.poll
            }
            None => {
                empty = Some(0);
                timing.settle
            }
            Some(looks) => {
                empty = match read(&path, timing.oldest)? {
                    None => None,
                    Some(named) if !named.is_empty() => return Ok(named),
                    Some(_) if looks >= timing.empty_looks => return Err(GatherError::Empty(path)),
                    Some(_) => Some(looks + 1),
                };
                timing.poll
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Returns whether there is a done file of whatever type, which was not last changed before `oldest`.
pub(crate) fn has_done_file(results_dir: &Path, oldest: Option<Timestamp>) -> bool {
    look(&results_dir.join(DONE_FILE), oldest).is_ok_and(|found| matches!(found, Found::File(_)))
}

/// Returns what the done file names as soon as two reads in a row, `poll` apart, are equal. One
/// read can see a file that is half written, or not readable yet.
pub(crate) async fn named_twice(
    results_dir: &Path,
    poll: Duration,
    oldest: Option<Timestamp>,
) -> Result<String, GatherError> {
    let path = results_dir.join(DONE_FILE);
    let mut last: Option<Result<String, String>> = None;
    loop {
        // An empty file does not count, because its writer may not have finished.
        let named = read(&path, oldest).transpose().filter(|named| !matches!(named, Ok(text) if text.is_empty()));
        let seen = named.as_ref().map(|named| named.as_ref().cloned().map_err(ToString::to_string));
        match named {
            Some(named) if seen == last => return named,
            _ => last = seen,
        }
        tokio::time::sleep(poll).await;
    }
}

/// Declares in `results_dir` that `result` in it is complete, for plugins that are roles of this
/// program.
///
/// The write is atomic. All users may read it, because the worker may run as a different user.
///
/// # Errors
/// Returns the I/O error if the file could not be written.
pub fn write_done(results_dir: &Path, result: &Path) -> io::Result<()> {
    let mut file = AtomicFile::create(&results_dir.join(DONE_FILE))?.readable_by_all()?;
    file.write_all(result.as_os_str().as_bytes())?;
    file.commit()
}

/// Opens a file of a plugin without following a link or blocking: since it was checked, it may have
/// become a link or a pipe.
pub(crate) fn open_untrusted(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the type of a file for messages.
pub(crate) fn kind_of(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        "directory"
    } else if file_type.is_symlink() {
        "symbolic link"
    } else if file_type.is_fifo() {
        "named pipe"
    } else if file_type.is_socket() {
        "socket"
    } else if file_type.is_block_device() || file_type.is_char_device() {
        "device"
    } else {
        "regular file"
    }
}

/// Returns `Ok(None)` if the file does not exist.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// What is at the path of the done file.
enum Found {
    Nothing,
    /// A file of an earlier run.
    Stale,
    File(FileType),
}

fn look(path: &Path, oldest: Option<Timestamp>) -> io::Result<Found> {
    let Some(metadata) = if_there(path.symlink_metadata())? else { return Ok(Found::Nothing) };
    let is_stale = oldest.is_some_and(|oldest| changed(&metadata).is_some_and(|changed| changed < oldest));
    Ok(if is_stale { Found::Stale } else { Found::File(metadata.file_type()) })
}

/// Returns when a file was last changed. Unlike the time of its last write, no program can set this.
pub(crate) fn changed(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::new(metadata.ctime(), i32::try_from(metadata.ctime_nsec()).ok()?).ok()
}

/// Returns the trimmed text of the done file, or `Ok(None)` if it does not exist or is that of an
/// earlier run.
fn read(path: &Path, oldest: Option<Timestamp>) -> Result<Option<String>, GatherError> {
    let failed = |error| GatherError::Read(path.to_owned(), error);
    let regular = |kind: FileType| match kind.is_file() {
        true => Ok(()),
        false => Err(GatherError::NotAFile { path: path.to_owned(), kind: kind_of(kind) }),
    };
    let Found::File(kind) = look(path, oldest).map_err(failed)? else { return Ok(None) };
    regular(kind)?;
    let Some(file) = if_there(open_untrusted(path)).map_err(failed)? else { return Ok(None) };
    regular(file.metadata().map_err(failed)?.file_type())?;
    let mut bytes = Vec::new();
    file.take(MAX_DONE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_DONE_BYTES {
        return Err(GatherError::TooLarge { path: path.to_owned(), limit: MAX_DONE_BYTES });
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.contains('\0') => Ok(Some(text.trim().to_owned())),
        _ => Err(GatherError::NotText(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_text_and_trims_it() {
        let dir = tempfile::tempdir().unwrap();
        let done = dir.path().join(DONE_FILE);
        assert!(read(&done, None).unwrap().is_none());
        std::fs::write(&done, " /tmp/results/a b.txt\r\n\n").unwrap();
        assert_eq!(read(&done, None).unwrap().unwrap(), "/tmp/results/a b.txt");
    }

    #[test]
    fn refuses_what_is_not_a_small_regular_text_file() {
        let dir = tempfile::tempdir().unwrap();
        let done = dir.path().join(DONE_FILE);
        std::fs::write(&done, vec![b'a'; 4096]).unwrap();
        assert_eq!(read(&done, None).unwrap().unwrap().len(), 4096);
        std::fs::write(&done, vec![b'a'; 4097]).unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::TooLarge { .. })));
        std::fs::write(&done, b"/tmp/\xff").unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::NotText(_))));
        std::fs::write(&done, b"/tmp/\0").unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::NotText(_))));

        std::fs::remove_file(&done).unwrap();
        std::fs::create_dir(&done).unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::NotAFile { kind: "directory", .. })));

        std::fs::remove_dir(&done).unwrap();
        std::os::unix::fs::symlink("/proc/self/environ", &done).unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::NotAFile { kind: "symbolic link", .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_done_file_that_changes_between_two_reads_is_read_again() {
        const POLL: Duration = Duration::from_secs(1);
        for half in [&b"result.tar"[..], b"\xe2\x82"] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join(DONE_FILE), half).unwrap();
            let start = Instant::now();
            let finish = async {
                tokio::time::sleep(POLL / 2).await;
                std::fs::write(dir.path().join(DONE_FILE), "result.tar.gz").unwrap();
            };
            let (named, ()) = tokio::join!(named_twice(dir.path(), POLL, None), finish);
            assert_eq!(named.unwrap(), "result.tar.gz");
            assert!(start.elapsed() >= 2 * POLL, "{:?}", start.elapsed());
        }
    }

    #[test]
    fn a_pipe_does_not_hang_the_worker() {
        let dir = tempfile::tempdir().unwrap();
        let done = dir.path().join(DONE_FILE);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &done,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
        assert!(matches!(read(&done, None), Err(GatherError::NotAFile { kind: "named pipe", .. })));
    }

    #[test]
    fn a_worker_reads_the_written_done_file() {
        let dir = tempfile::tempdir().unwrap();
        let result = dir.path().join("a b.json");
        write_done(dir.path(), &result).unwrap();
        assert_eq!(read(&dir.path().join(DONE_FILE), None).unwrap().as_deref(), result.to_str());
        // Write it again, as after a restart of the container.
        write_done(dir.path(), &dir.path().join("c")).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write_done(&dir.path().join("nowhere"), &result).is_err());
    }
}
