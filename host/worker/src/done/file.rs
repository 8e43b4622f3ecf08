//! Reads the done file. A plugin writes it, so it is untrusted.

use std::fs::{FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The name of the done file in the results directory.
pub const DONE_FILE: &str = "done";

/// Maximum size of a done file in bytes: 4 KiB, the longest path on Linux.
pub const MAX_DONE_BYTES: u64 = 4096;

/// Error while reading a done file.
#[derive(Debug, thiserror::Error)]
pub enum DoneError {
    /// The file could not be read.
    #[error("failed to read the done file `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// It is not a regular file. Links are not followed, because the plugin may lack access to
    /// their target.
    #[error("the done file `{}` is a {kind}, not a regular file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
        /// The actual type.
        kind: &'static str,
    },
    /// It is larger than a path can be.
    #[error("the done file `{}` has more than {MAX_DONE_BYTES} bytes: it must hold one path and nothing else", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not UTF-8 text.
    #[error("the done file `{}` does not hold a path: it is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// The results directory was removed, and did not come back.
    #[error("the results directory `{}` was removed, so the plugin can have no result", path.display())]
    Gone {
        /// The directory.
        path: PathBuf,
    },
    /// It stays empty.
    #[error(
        "the done file `{}` is empty: it must hold the path of the file or directory to send, below the results directory",
        path.display()
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
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

/// Returns the metadata of the done file, whatever its type, or `Ok(None)` if it does not exist.
pub(super) fn look(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the text of the done file without surrounding white space, or `Ok(None)` if it no longer
/// exists.
pub(super) fn read(path: &Path) -> Result<Option<String>, DoneError> {
    let read_error = |source| DoneError::Read { path: path.to_owned(), source };
    let Some(metadata) = look(path).map_err(read_error)? else { return Ok(None) };
    if !metadata.is_file() {
        return Err(DoneError::NotAFile { path: path.to_owned(), kind: kind_of(metadata.file_type()) });
    }
    // Do not follow links or block: the file may have become a link or a pipe in the meantime.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(read_error(error)),
    };
    let file_type = file.metadata().map_err(read_error)?.file_type();
    if !file_type.is_file() {
        return Err(DoneError::NotAFile { path: path.to_owned(), kind: kind_of(file_type) });
    }
    let mut bytes = Vec::new();
    file.take(MAX_DONE_BYTES + 1).read_to_end(&mut bytes).map_err(read_error)?;
    if bytes.len() as u64 > MAX_DONE_BYTES {
        return Err(DoneError::TooLarge { path: path.to_owned() });
    }
    let text = std::str::from_utf8(&bytes).map_err(|_| DoneError::NotText { path: path.to_owned() })?;
    if text.contains('\0') {
        return Err(DoneError::NotText { path: path.to_owned() });
    }
    Ok(Some(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_text_and_trims_it() {
        let dir = tempfile::tempdir().unwrap();
        let done = dir.path().join(DONE_FILE);
        assert!(read(&done).unwrap().is_none());
        std::fs::write(&done, " /tmp/results/a b.txt\r\n\n").unwrap();
        assert_eq!(read(&done).unwrap().unwrap(), "/tmp/results/a b.txt");
    }

    #[test]
    fn refuses_what_is_not_a_small_regular_text_file() {
        let dir = tempfile::tempdir().unwrap();
        let done = dir.path().join(DONE_FILE);
        std::fs::write(&done, vec![b'a'; 4096]).unwrap();
        assert_eq!(read(&done).unwrap().unwrap().len(), 4096);
        std::fs::write(&done, vec![b'a'; 4097]).unwrap();
        assert!(matches!(read(&done), Err(DoneError::TooLarge { .. })));
        std::fs::write(&done, b"/tmp/\xff").unwrap();
        assert!(matches!(read(&done), Err(DoneError::NotText { .. })));
        std::fs::write(&done, b"/tmp/\0").unwrap();
        assert!(matches!(read(&done), Err(DoneError::NotText { .. })));

        std::fs::remove_file(&done).unwrap();
        std::fs::create_dir(&done).unwrap();
        assert!(matches!(read(&done), Err(DoneError::NotAFile { kind: "directory", .. })));

        std::fs::remove_dir(&done).unwrap();
        std::os::unix::fs::symlink("/proc/self/environ", &done).unwrap();
        assert!(matches!(read(&done), Err(DoneError::NotAFile { kind: "symbolic link", .. })));
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
        assert!(matches!(read(&done), Err(DoneError::NotAFile { kind: "named pipe", .. })));
    }
}
