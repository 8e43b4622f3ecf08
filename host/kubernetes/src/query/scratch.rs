//! Writes files in a scratch directory, and moves them to their final path when they are complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The scratch directory, below the directory of the survey. It is on the same file system, so that
/// files can be moved.
const SCRATCH: &str = ".query.part";

/// The scratch directory. It is removed with its incomplete files when the last owner drops it.
pub(super) struct Scratch {
    out: PathBuf,
    dir: PathBuf,
    next: AtomicU64,
}

impl Scratch {
    /// Creates the scratch directory below `out`, which is created too. The remains of a killed
    /// survey are removed.
    pub(super) fn new(out: &Path) -> io::Result<Arc<Self>> {
        let dir = out.join(SCRATCH);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&dir)?,
        }
        Ok(Arc::new(Self { out: out.to_owned(), dir, next: AtomicU64::new(0) }))
    }

    /// Returns a new path for a file in progress.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Returns the final path of the file `relative`.
    pub(super) fn place(&self, relative: &str) -> PathBuf {
        self.out.join(relative)
    }

    /// Moves a complete file to its final path.
    pub(super) fn put(&self, from: &Path, relative: &str) -> io::Result<()> {
        let to = self.place(relative);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }

    /// Writes a complete file.
    pub(super) fn write(&self, relative: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path();
        fs::write(&path, bytes)?;
        self.put(&path, relative)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            tracing::warn!("failed to remove `{}`: {error}", self.dir.display());
        }
    }
}
