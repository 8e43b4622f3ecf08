//! One process at a time builds what all checkouts share.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::error::Error;
use crate::report::say;

/// Held while a shared directory is changed; given up when dropped, also when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks `dir` (made if missing) through the file `.lock` in it. Waits for whoever holds it, and says so.
    pub(crate) fn take(dir: &Path) -> Result<Self, Error> {
        fs::create_dir_all(dir).map_err(Error::io("create", dir))?;
        let path = dir.join(".lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::io("open the lock file", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say(format_args!("waiting for another process that prepares {}", dir.display()));
                file.lock().map_err(Error::io("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
        }
        Ok(Self { _file: file })
    }
}
