//! A lock, so that only one process at a time builds what all checkouts share.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::error::Error;
use crate::report::print_status;

/// A lock on a shared directory. It is released when dropped, or when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks `dir`, which is created if missing, through the file `.lock` in it. If another process
    /// holds the lock, prints a message and waits.
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
                print_status(format_args!("waiting for another process that prepares {}", dir.display()));
                file.lock().map_err(Error::io("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &path)(source)),
        }
        Ok(Self { _file: file })
    }
}
