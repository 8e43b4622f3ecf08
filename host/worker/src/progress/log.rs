//! Follows an untrusted log file, which may be a link or a pipe, replaced or truncated.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumbline_core::definition::{LogFormat, LogProgress};

use super::ginkgo::Ginkgo;
use super::patterns::{Counter, PatternError, Patterns};
use crate::done_file::open_untrusted;
use crate::error::GatherError;
use crate::gather::locate;

/// Size of the read buffer in bytes.
const PIECE: usize = 64 << 10;

/// Maximum number of bytes per call: 16 MiB. If a log grows faster, counting catches up later.
const MAX_LOOK: u64 = 16 << 20;

/// Validates the settings that a worker would otherwise check only when it needs the patterns.
///
/// # Errors
/// Returns [`PatternError`] for the first invalid regular expression.
pub fn check_log_progress(progress: &LogProgress) -> Result<(), PatternError> {
    counter_for(progress).map(drop)
}

/// Returns the counter for the log of a plugin.
pub(super) fn counter_for(progress: &LogProgress) -> Result<Box<dyn Counter>, PatternError> {
    match &progress.format {
        LogFormat::Ginkgo => Ok(Box::<Ginkgo>::default()),
        LogFormat::Patterns(patterns) => Ok(Box::new(Patterns::new(patterns)?)),
    }
}

/// A log below the results directory.
pub(super) struct LogFile {
    results_dir: PathBuf,
    name: String,
    open: Option<Open>,
}

struct Open {
    file: File,
    /// Device and inode.
    place: (u64, u64),
    read: u64,
}

impl LogFile {
    pub(super) fn new(results_dir: &Path, name: &str) -> Self {
        Self { results_dir: results_dir.to_owned(), name: name.to_owned(), open: None }
    }

    /// Passes the new bytes of the log to `counter`. Returns true if these were all.
    ///
    /// Reads are local, and run on the async thread.
    pub(super) async fn look(&mut self, counter: &mut dyn Counter) -> io::Result<bool> {
        let mut left = MAX_LOOK;
        // Read the rest of the old file first, because it may have been renamed.
        if let Some(open) = &mut self.open {
            open.rest(counter, &mut left).await?;
        }
        let Some((file, place)) = self.there()? else { return Ok(left > 0) };
        if self.open.as_ref().is_some_and(|open| open.place == place) || left == 0 {
            return Ok(left > 0);
        }
        counter.end_line();
        self.open.insert(Open { file, place, read: 0 }).rest(counter, &mut left).await?;
        Ok(left > 0)
    }

    /// Opens the file that has the name now.
    fn there(&self) -> io::Result<Option<(File, (u64, u64))>> {
        let (path, kind) = match locate(&self.results_dir, &self.name) {
            Ok(located) => located,
            Err(GatherError::Missing { .. }) => return Ok(None),
            Err(GatherError::Io(_, error)) => return Err(error),
            Err(GatherError::Outside { .. }) => return Err(io::Error::other("it is outside of the results directory")),
            Err(GatherError::NotSendable { kind, .. }) => return Err(io::Error::other(format!("it is a {kind}"))),
            Err(GatherError::Itself(_)) => return Err(io::Error::other("it is the done file")),
            Err(other) => return Err(io::Error::other(other)),
        };
        if kind.is_dir() {
            return Err(io::Error::other("it is a directory"));
        }
        let file = match open_untrusted(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Some((file, (metadata.dev(), metadata.ino()))))
    }
}

impl Open {
    async fn rest(&mut self, counter: &mut dyn Counter, left: &mut u64) -> io::Result<()> {
        if self.file.metadata()?.len() < self.read {
            // The file was truncated, and is written again from its start.
            self.file.seek(SeekFrom::Start(0))?;
            self.read = 0;
            counter.end_line();
        }
        let mut piece = vec![0; PIECE];
        while *left > 0 {
            let n = match self.file.read(&mut piece) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let Some(read) = piece.get(..n).filter(|read| !read.is_empty()) else { break };
            counter.read(read);
            self.read += n as u64;
            *left = left.saturating_sub(n as u64);
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use plumbline_core::definition::LogPatterns;

    use super::*;

    fn counter() -> Box<dyn Counter> {
        let patterns = LogPatterns { total: None, completed: "ok".to_owned(), failed: None };
        counter_for(&LogProgress { file: String::new(), format: LogFormat::Patterns(patterns) }).unwrap()
    }

    fn append(path: &Path, text: &str) {
        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[tokio::test]
    async fn new_lines_are_counted_once_even_if_the_file_is_rotated_or_truncated() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let (mut log, mut counter) = (LogFile::new(dir.path(), "a.log"), counter());
        log.look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 0, "not found yet");
        append(&path, "ok\nok\no");
        log.look(counter.as_mut()).await.unwrap();
        log.look(counter.as_mut()).await.unwrap();
        append(&path, "k\n");
        log.look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 3);
        // After a rotation, the end of the old file is read before the new one.
        append(&path, "ok\n");
        fs::rename(&path, dir.path().join("a.log.1")).unwrap();
        append(&path, "ok\nok\n");
        log.look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 6);
        // Some tools truncate the file to rotate it.
        fs::write(&path, "ok\n").unwrap();
        log.look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 7);
        // The file disappears and comes back.
        fs::remove_file(&path).unwrap();
        log.look(counter.as_mut()).await.unwrap();
        append(&path, "ok\n");
        log.look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 8);
    }

    #[tokio::test]
    async fn nothing_is_read_that_is_not_a_file_of_the_directory() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("results");
        fs::create_dir(&dir).unwrap();
        fs::write(outer.path().join("secret"), "ok\n").unwrap();
        symlink("../secret", dir.join("link")).unwrap();
        symlink("..", dir.join("up")).unwrap();
        fs::create_dir(dir.join("sub")).unwrap();
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, dir.join("pipe"), pipe, rustix::fs::Mode::from_raw_mode(0o644), 0)
            .unwrap();
        for name in ["link", "up/secret", "sub", "pipe"] {
            let mut counter = counter();
            assert!(LogFile::new(&dir, name).look(counter.as_mut()).await.is_err(), "{name}");
            assert_eq!(counter.counts().ended, 0, "{name}");
        }
        symlink("sub/inner.log", dir.join("inside")).unwrap();
        fs::write(dir.join("sub/inner.log"), "ok\n").unwrap();
        let mut counter = counter();
        LogFile::new(&dir, "inside").look(counter.as_mut()).await.unwrap();
        assert_eq!(counter.counts().ended, 1, "a link that stays inside is one of the plugin's own");
    }
}
