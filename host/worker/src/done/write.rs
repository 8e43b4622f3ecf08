//! Writes the done file for plugins that are roles of this program, whose image has no shell.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use plumbline_archive::atomic::AtomicFile;

use super::file::DONE_FILE;

/// Declares in `results_dir` that `result`, a file or directory in it, is complete.
///
/// The write is atomic: a reader sees no done file, or the whole one. All users may read it,
/// because the worker may run as a different user.
///
/// # Errors
/// Returns the I/O error if the file could not be written.
pub fn write_done(results_dir: &Path, result: &Path) -> io::Result<()> {
    let mut file = AtomicFile::create(&results_dir.join(DONE_FILE))?.readable_by_all()?;
    file.write_all(result.as_os_str().as_bytes())?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::done::file::read;

    #[test]
    fn what_is_written_is_what_a_worker_reads() {
        let dir = tempfile::tempdir().unwrap();
        let result = dir.path().join("a b.json");
        write_done(dir.path(), &result).unwrap();
        assert_eq!(read(&dir.path().join(DONE_FILE)).unwrap().as_deref(), result.to_str());
        // Write it again, as after a restart of the container.
        write_done(dir.path(), &dir.path().join("c")).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write_done(&dir.path().join("nowhere"), &result).is_err());
    }
}
