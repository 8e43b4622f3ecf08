//! One writer at a time.

use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::store::error::StoreError;

/// The file that is locked. It stays: removing it would let two processes hold two locks.
const FILE: &str = ".lock";

/// How long another process is waited for. Installing takes a second; a minute is somebody who hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often is looked.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to change the directory. The system takes it back when the process ends, however it ends.
pub(super) struct Guard {
    _file: File,
}

impl Guard {
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let failed = |source| StoreError::Io { path: path.clone(), source };
        fs::create_dir_all(dir).map_err(failed)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        let begin = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begin.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(StoreError::Busy(dir.to_owned())),
                Err(error) => return Err(failed(error.into())),
            }
        }
    }
}
