//! Files that are there whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// How the names of temporary files begin. A process that is killed leaves its own behind; this is how a person recognises it.
pub const TEMPORARY_PREFIX: &str = ".plumbline-";

/// Random characters behind [`TEMPORARY_PREFIX`].
const TEMPORARY_RANDOM: usize = 6;

/// Whether `name`, without directories, is the name of a temporary file of an [`AtomicFile`]. Such a file is never part of a result:
/// it was left behind by a process that was killed, or is being written.
#[must_use]
pub fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    random.is_some_and(|random| random.len() == TEMPORARY_RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A file under way: written beside its place, under a temporary name, and moved there by [`AtomicFile::commit`]. Dropped
/// without that, it is removed, and what was in its place stays.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl AtomicFile {
    /// Begins a file that is to become `target`, readable by all under the umask. Its directory must exist.
    ///
    /// # Errors
    /// What the system says to a new file there.
    pub fn create(target: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX).rand_bytes(TEMPORARY_RANDOM);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(std::fs::Permissions::from_mode(0o644));
        }
        Ok(Self { temporary: builder.tempfile_in(directory(target))?, target: target.to_owned() })
    }

    /// Where it is written now.
    #[must_use]
    pub fn temporary_path(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the file into its place, replacing what is there. When this returns, the file outlives a power cut: it, and then its
    /// directory, have been written to disk.
    ///
    /// # Errors
    /// What the system says. The temporary file is removed then, unless it was only the directory that could not be synced.
    pub fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        sync_directory(directory(&self.target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

/// Writes `data` to `target` so that a reader sees the old content or the new, and a crash leaves one of them.
///
/// # Errors
/// What the system says; `target` is what it was then.
pub fn write_atomic(target: &Path, data: &[u8]) -> io::Result<()> {
    let mut file = AtomicFile::create(target)?;
    file.write_all(data)?;
    file.commit()
}

/// The directory of a file; `.` for a bare name.
fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

#[cfg(unix)]
fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Directories cannot be opened as files elsewhere, and renames are durable by other means.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_seen_before_the_commit_and_nothing_else_after() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("file");
        fs::write(&target, "old").unwrap();
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(file.temporary_path().parent(), Some(dir.path()));
        assert!(is_temporary(file.temporary_path().file_name().unwrap()));
        assert!(!is_temporary(OsStr::new(".plumbline-run-1a2b3c")) && !is_temporary(OsStr::new("file")));
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert_eq!(names(dir.path()), ["file"]);
    }

    #[test]
    fn given_up_it_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&dir.path().join("file")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(dir.path()).is_empty());
        // A directory in the way: refused, and nothing left beside it.
        fs::create_dir_all(dir.path().join("taken/x")).unwrap();
        write_atomic(&dir.path().join("taken"), b"data").unwrap_err();
        assert_eq!(names(dir.path()), ["taken"]);
        write_atomic(&dir.path().join("missing/file"), b"data").unwrap_err();
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let (ours, plain) = (dir.path().join("a"), dir.path().join("b"));
        write_atomic(&ours, b"").unwrap();
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
