//! Files that are written completely or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::disk::{Disk, Step};

/// The prefix of temporary file names. A killed process leaves its temporary file behind, and this
/// prefix identifies it.
pub const TEMPORARY_PREFIX: &str = ".plumbline-";

/// The number of random characters after [`TEMPORARY_PREFIX`].
const TEMPORARY_RANDOM: usize = 6;

/// Returns whether `name`, without directories, is the name of a temporary file of an
/// [`AtomicFile`]. Such a file is never part of a result: it is being written, or a killed process
/// left it behind.
pub fn is_temporary(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX));
    random.is_some_and(|random| random.len() == TEMPORARY_RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A file that is written next to its target under a temporary name. [`AtomicFile::commit`] moves
/// it to the target. If it is dropped without a commit, it is removed, and the target is unchanged.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    target: PathBuf,
    disk: Disk,
}

impl AtomicFile {
    /// Creates a temporary file for `target`, readable by all users as far as the umask permits.
    /// The directory must exist.
    pub fn create(target: &Path) -> io::Result<Self> {
        Self::create_on(&Disk::default(), target, 0o644)
    }

    /// Creates a temporary file on `disk` for `target`, with the permissions `mode` under the
    /// umask. The directory must exist.
    pub fn create_on(disk: &Disk, target: &Path, mode: u32) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX).rand_bytes(TEMPORARY_RANDOM);
        builder.permissions(Permissions::from_mode(mode));
        let directory = parent_directory(target);
        let temporary = disk.step(Step::CreateTemporary(directory), || builder.tempfile_in(directory))?;
        Ok(Self { temporary, target: target.to_owned(), disk: disk.clone() })
    }

    /// Creates a temporary file like [`AtomicFile::create_on`], with the name `.TARGET.part`. It
    /// replaces the file that a killed process left under this name, so only one process may write
    /// to the target at a time.
    pub fn create_part_on(disk: &Disk, target: &Path, mode: u32) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut part = OsString::from(".");
        part.push(name);
        part.push(".part");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&part).rand_bytes(0).permissions(Permissions::from_mode(mode));
        let directory = parent_directory(target);
        let path = directory.join(&part);
        let temporary = disk.step(Step::Create(&path), || match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => builder.tempfile_in(directory),
        })?;
        Ok(Self { temporary, target: target.to_owned(), disk: disk.clone() })
    }

    /// Makes the file readable by all users, whatever the umask. The user who reads a result may
    /// differ from the one who wrote it.
    pub fn readable_by_all(self) -> io::Result<Self> {
        self.as_file().set_permissions(Permissions::from_mode(0o644))?;
        Ok(self)
    }

    /// Returns the file, for seeking and reading before the commit.
    pub fn as_file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Returns the path of the temporary file.
    pub fn temporary_path(&self) -> &Path {
        self.temporary.path()
    }

    /// Moves the file to its target and replaces an existing file. On return, both the file and its
    /// directory entry are durable.
    ///
    /// # Errors
    /// The temporary file is then removed, unless only the sync of the directory failed.
    pub fn commit(self) -> io::Result<()> {
        let Self { temporary, target, disk } = self;
        disk.step(Step::Sync(temporary.path()), || temporary.as_file().sync_all())?;
        let from = temporary.path().to_owned();
        disk.step(Step::Rename(&from, &target), || temporary.persist(&target).map_err(|error| error.error))?;
        disk.sync_directory(parent_directory(&target))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.disk.write(self.temporary.as_file(), self.temporary.path(), data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.as_file_mut().flush()
    }
}

impl Disk {
    /// Replaces the file at `path` by one with these bytes and permissions. Readers see either the
    /// old or the new bytes, also after a crash.
    ///
    /// # Errors
    /// `path` is then unchanged, unless only the last sync failed.
    pub fn replace(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = AtomicFile::create_on(self, path, mode)?;
        file.write_all(bytes)?;
        file.commit()
    }
}

/// Writes `data` to `target`. Readers see either the old or the new bytes, also after a crash.
///
/// # Errors
/// `target` is then unchanged, unless only the sync of the directory failed.
pub fn write_atomic(target: &Path, data: &[u8]) -> io::Result<()> {
    Disk::default().replace(target, data, 0o644)
}

/// Returns the directory of a file, or `.` for a bare name.
pub fn parent_directory(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
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
        // A directory in the way is an error, and no temporary file is left behind.
        fs::create_dir_all(dir.path().join("taken/x")).unwrap();
        write_atomic(&dir.path().join("taken"), b"data").unwrap_err();
        assert_eq!(names(dir.path()), ["taken"]);
        write_atomic(&dir.path().join("missing/file"), b"data").unwrap_err();
    }

    #[test]
    fn a_part_that_a_killed_process_left_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.tar.gz");
        fs::write(dir.path().join(".a.tar.gz.part"), "the first half of an earlier attempt").unwrap();
        let mut file = AtomicFile::create_part_on(&Disk::default(), &target, 0o644).unwrap();
        file.write_all(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "whole");
        assert_eq!(names(dir.path()), ["a.tar.gz"]);
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
