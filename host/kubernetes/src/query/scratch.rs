//! Files that are written in a directory of their own, and moved to their place when they are whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where files are until they are whole, below the directory of the survey: on the same file system, so that they can be moved.
const SCRATCH: &str = ".query.part";

/// The directory of files that are being written. It goes with its last owner, and what is not whole goes with it.
pub(super) struct Scratch {
    out: PathBuf,
    dir: PathBuf,
    next: AtomicU64,
}

impl Scratch {
    /// Makes it below `out`, which is made as well. What an earlier survey left there when it was killed is removed.
    pub(super) fn new(out: &Path) -> io::Result<Arc<Self>> {
        let dir = out.join(SCRATCH);
        match fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(&dir)?,
        }
        Ok(Arc::new(Self { out: out.to_owned(), dir, next: AtomicU64::new(0) }))
    }

    /// A new name for a file that is being written.
    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Where the file `relative` stands once it is whole.
    pub(super) fn place(&self, relative: &str) -> PathBuf {
        self.out.join(relative)
    }

    /// Moves a whole file to its place.
    pub(super) fn put(&self, from: &Path, relative: &str) -> io::Result<()> {
        let to = self.place(relative);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(from, to)
    }

    /// Writes a whole file.
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
