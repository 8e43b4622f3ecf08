//! The working directory of a run, with everything that a restart needs to resume it.
//!
//! ```text
//! run.json         description of the run: id, start, plugins (written once, atomically)
//! ca.pem           the run's CA: certificate and private key, readable only by the owner
//! journal          the ledger's events
//! journal.reserve  disk space that the end of the run needs
//! status.json      the status, for people and other programs
//! incoming/        uploads in progress
//! scratch/         temporary files of post-processing
//! ends/            how the executions of complete plugins ended
//! tree/            the future content of the archive
//! ```

use std::fs::{self, File, OpenOptions};
use std::future::ready;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use plumbline_archive::disk::Disk;
use plumbline_core::RunId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dispatcher::{BoxFuture, DispatchError, Vault};
use crate::plan::Provenance;

/// Maximum size of a file that a restart reads completely, in bytes. A definition can have lists of 16
/// MiB for judges, and each of five reruns has them too.
const MAX_FILE: u64 = 256 << 20;
/// How long a killed process may still hold its lock: 2 s.
const DYING: Duration = Duration::from_secs(2);
/// Name prefix of directories that are being removed.
const REMOVED: &str = ".plumbline-removed-";
/// Name of the description of the run.
const RECORD: &str = "run.json";
/// Name of the status file in the working directory.
pub const STATUS_FILE: &str = "status.json";

/// Description of a run, written at its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRecord {
    /// ID of the run.
    pub run: RunId,
    /// Time of its start.
    pub started: Timestamp,
    /// Plugins, in the order of the command line.
    pub plugins: Vec<PluginRecord>,
    /// Timeout of each plugin in seconds. 0 means no limit.
    pub timeout_seconds: u64,
    /// Timeout of the whole run in seconds. 0 means no limit.
    #[serde(default)]
    pub deadline_seconds: u64,
}

/// A plugin of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PluginRecord {
    /// The definition, as JSON.
    pub definition: Value,
    /// Directory of its bundle, if it has one.
    pub bundle: Option<PathBuf>,
    /// Origin of the plugin, if it is known.
    #[serde(default)]
    pub provenance: Option<Provenance>,
}

/// Error of the working directory.
#[derive(Debug, thiserror::Error)]
pub enum WorkDirError {
    /// A file or directory is not accessible.
    #[error("failed to {what} `{path}`: {source}")]
    Io {
        /// The operation, such as `read`, `write` or `create`.
        what: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// `run.json` is malformed.
    #[error("invalid description of a run `{path}`: {source}")]
    Record {
        /// Path of the file.
        path: PathBuf,
        /// The underlying error.
        source: serde_json::Error,
    },
    /// Another process is using the run.
    #[error("another process uses the run in `{0}`: stop it first")]
    Locked(PathBuf),
}

/// The working directory of a run. Only one process can use it at a time.
#[derive(Debug)]
pub struct WorkDir {
    root: PathBuf,
    disk: Disk,
    // The lock is released when the file is closed.
    _lock: File,
}

impl WorkDir {
    /// Creates or opens the directory, and locks it for this process.
    pub fn open(root: PathBuf) -> Result<Self, WorkDirError> {
        Self::open_on(Disk::default(), root)
    }

    /// Opens a directory like [`WorkDir::open`], on `disk`. The run writes everything to that disk.
    pub fn open_on(disk: Disk, root: PathBuf) -> Result<Self, WorkDirError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| WorkDirError::Io { what, path, source }
        };
        disk.create_private_directories(&root).map_err(failed("create", &root))?;
        // A crash may have interrupted the removal of an earlier run.
        if let Some(removed) = removed(&root)
            && let Err(error) = disk.remove_directory(&removed)
        {
            tracing::warn!("failed to remove `{}`: {error}", removed.display());
        }
        let path = root.join("lock");
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed("create", &path))?;
        match take(&lock) {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(WorkDirError::Locked(root)),
            Err(fs::TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        for dir in ["scratch", "tree"] {
            let path = root.join(dir);
            disk.create_directories(&path).map_err(failed("create", &path))?;
        }
        Ok(Self { root, disk, _lock: lock })
    }

    /// Returns the file system that the run writes to.
    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Returns the path of the directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory with the future content of the archive.
    pub fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// Returns the directory for temporary files of post-processing.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// Returns the directory with the ends of executions.
    pub(crate) fn ends(&self) -> PathBuf {
        self.root.join("ends")
    }

    /// Returns the description of the run that was started here, if there is one.
    pub fn record(&self) -> Result<Option<RunRecord>, WorkDirError> {
        let Some(bytes) = self.read(RECORD)? else { return Ok(None) };
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|source| WorkDirError::Record { path: self.root.join(RECORD), source })
    }

    /// Writes the description of the run. From then on, the run can be resumed.
    pub fn begin(&self, record: &RunRecord) -> Result<(), WorkDirError> {
        let bytes = serde_json::to_vec_pretty(record)
            .map_err(|source| WorkDirError::Record { path: self.root.join(RECORD), source })?;
        let unreadable = |source| WorkDirError::Io { what: "write", path: self.root.join(RECORD), source };
        check_readable(bytes.len() as u64).map_err(unreadable)?;
        self.write(RECORD, &bytes, 0o600)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, WorkDirError> {
        let path = self.root.join(name);
        let mut bytes = Vec::new();
        let result = File::open(&path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
        match result {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(WorkDirError::Io { what: "read", path, source }),
        }
    }

    fn write(&self, name: &str, bytes: &[u8], mode: u32) -> Result<(), WorkDirError> {
        let path = self.root.join(name);
        self.disk.replace(&path, bytes, mode).map_err(|source| WorkDirError::Io { what: "write", path, source })
    }

    /// Removes the directory, which is renamed first, so that a crash never leaves a part of it.
    pub fn remove(self) -> Result<(), WorkDirError> {
        remove(&self.disk, &self.root)
    }

    /// Removes the directory `root` of a run that no process uses.
    pub fn remove_at(root: &Path) -> Result<(), WorkDirError> {
        remove(&Disk::default(), root)
    }
}

/// Stores the run's CA in a file that only its owner can read.
impl Vault for WorkDir {
    fn load(&self) -> BoxFuture<'_, Result<Option<String>, DispatchError>> {
        let pem = self.read("ca.pem").map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
        Box::pin(ready(pem.map_err(|error| DispatchError::new(error.to_string()))))
    }

    fn keep<'a>(&'a self, pem: &'a str) -> BoxFuture<'a, Result<(), DispatchError>> {
        let written = self.write("ca.pem", pem.as_bytes(), 0o600);
        Box::pin(ready(written.map_err(|error| DispatchError::new(error.to_string()))))
    }
}

/// Checks that a restart can read a file of this many bytes. Otherwise, nothing could resume the run.
fn check_readable(bytes: u64) -> io::Result<()> {
    if bytes > MAX_FILE {
        let reason = format!("it has more than {} MiB", MAX_FILE >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(())
}

/// Takes the lock. A killed holder keeps it until its memory is released.
fn take(lock: &File) -> Result<(), fs::TryLockError> {
    let start = Instant::now();
    loop {
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) if start.elapsed() < DYING => std::thread::sleep(DYING / 100),
            taken => return taken,
        }
    }
}

fn remove(disk: &Disk, root: &Path) -> Result<(), WorkDirError> {
    let failed = |source| WorkDirError::Io { what: "remove", path: root.to_owned(), source };
    let Some(removed) = removed(root) else { return Ok(()) };
    disk.remove_directory(&removed).map_err(failed)?;
    disk.rename(root, &removed).map_err(failed)?;
    root.parent().map_or(Ok(()), |parent| disk.sync_directory(parent)).map_err(failed)?;
    disk.remove_directory(&removed).map_err(failed)
}

/// Returns the name of a directory while it is being removed.
fn removed(root: &Path) -> Option<PathBuf> {
    let name = root.file_name()?.to_string_lossy();
    Some(root.with_file_name(format!("{REMOVED}{}", name.trim_start_matches('.'))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_process_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let first = WorkDir::open(dir.path().join("run")).unwrap();
        assert!(matches!(WorkDir::open(dir.path().join("run")), Err(WorkDirError::Locked(_))));
        drop(first);
        WorkDir::open(dir.path().join("run")).unwrap();
    }

    #[tokio::test]
    async fn keys_are_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path().join("run")).unwrap();
        assert!(work.load().await.unwrap().is_none());
        work.keep("secret").await.unwrap();
        assert_eq!(work.load().await.unwrap().as_deref(), Some("secret"));
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(work.root().join("ca.pem")), 0o600);
        assert_eq!(mode(work.root().to_owned()), 0o700);
    }

    #[test]
    fn a_record_that_a_restart_could_not_read_is_not_written() {
        check_readable(MAX_FILE).unwrap();
        assert_eq!(check_readable(MAX_FILE + 1).unwrap_err().to_string(), "it has more than 256 MiB");
        // The lists of a chain for a suite and five reruns. Escaped, a text has at most twice its size.
        const { assert!(6 * 2 * (16 << 20) < MAX_FILE) };
    }

    #[test]
    fn a_damaged_record_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let work = WorkDir::open(dir.path().join("run")).unwrap();
        assert!(work.record().unwrap().is_none());
        fs::write(work.root().join("run.json"), "{").unwrap();
        assert!(work.record().unwrap_err().to_string().contains("run.json"));
    }
}
