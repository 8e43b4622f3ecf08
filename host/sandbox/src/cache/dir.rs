//! A directory that only this user may write to, and its equally trusted files.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};

/// Write permission for users other than the owner.
const OTHERS_WRITE: u32 = 0o022;
/// The prefix of names of incomplete files.
const UNFINISHED: &str = ".new-";

/// An open directory. Even if its path changes, the files are those of the directory that was
/// checked.
#[derive(Debug)]
pub(super) struct PrivateDir(OwnedFd);

/// A file in the directory.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// The modification time in seconds since 1970.
    pub(super) modified: i64,
    /// Whether the file is being written, or was left behind by a killed process.
    pub(super) unfinished: bool,
}

impl PrivateDir {
    /// Opens the directory, and creates it with mode 0700 if it does not exist.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        // The last component must not be a link, because the owner of a link could exchange its
        // target.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        check_owner(&file)?;
        Ok(Self(file.into()))
    }

    /// Reads a file of at most `max` bytes. Returns `None` if it does not exist.
    pub(super) fn read(&self, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
        // Do not block if someone has put a pipe there.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        check_owner(&file)?;
        if metadata.len() > max {
            return Err(io::Error::other(format!("it has {} bytes (limit: {max})", metadata.len())));
        }
        let mut content = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        Read::by_ref(&mut file).take(max).read_to_end(&mut content)?;
        // Mark the file as just used, which determines the order of eviction. A failure only costs
        // a compilation later.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = rustix::fs::futimens(&file, &Timestamps { last_access: now, last_modification: now });
        Ok(Some(content))
    }

    /// Writes a file atomically: readers see either the old or the new content.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unfinished = format!("{UNFINISHED}{}-{}", rustix::process::getpid(), NEXT.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A process with the same ID may have been killed here before.
        self.remove(&unfinished)?;
        let mut file = File::from(rustix::fs::openat(&self.0, &unfinished, flags, Mode::RUSR | Mode::WUSR)?);
        let written =
            file.write_all(content).and_then(|()| Ok(rustix::fs::renameat(&self.0, &unfinished, &self.0, name)?));
        if written.is_err() {
            let _ = self.remove(&unfinished);
        }
        written
    }

    /// Removes a file if it exists.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists all regular files.
    pub(super) fn list(&self) -> io::Result<Vec<Listed>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            // Another process may have removed it meanwhile.
            let Ok(stat) = rustix::fs::statat(self.0.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                files.push(Listed {
                    unfinished: name.starts_with(UNFINISHED),
                    name: name.to_owned(),
                    bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                    modified: stat.st_mtime,
                });
            }
        }
        Ok(files)
    }
}

fn check_owner(file: &File) -> io::Result<()> {
    let metadata = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    if metadata.uid() != me {
        return Err(io::Error::other(format!("it belongs to user {}, not to user {me}", metadata.uid())));
    }
    if metadata.mode() & OTHERS_WRITE != 0 {
        return Err(io::Error::other(format!("others may write to it (mode {:o})", metadata.mode() & 0o7777)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn it_is_made_for_its_owner_alone() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b");
        let dir = PrivateDir::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
        dir.write("x", b"1").unwrap();
        dir.write("x", b"22").unwrap();
        assert_eq!(fs::metadata(path.join("x")).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(dir.read("x", 2).unwrap().unwrap(), b"22");
        assert!(dir.read("x", 1).unwrap_err().to_string().contains("(limit: 1)"));
        assert_eq!(dir.read("y", 1).unwrap(), None);
        assert_eq!(dir.list().unwrap().len(), 1);
        dir.remove("x").unwrap();
        dir.remove("x").unwrap();
        assert!(dir.list().unwrap().is_empty());
    }

    #[test]
    fn what_others_may_write_to_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(PrivateDir::open(base.path()).unwrap_err().to_string(), "others may write to it (mode 777)");
        fs::set_permissions(base.path(), Permissions::from_mode(0o755)).unwrap();
        let dir = PrivateDir::open(base.path()).unwrap();
        dir.write("x", b"1").unwrap();
        fs::set_permissions(base.path().join("x"), Permissions::from_mode(0o620)).unwrap();
        assert!(dir.read("x", 9).unwrap_err().to_string().contains("others may write to it"));
    }

    #[test]
    fn links_and_pipes_are_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let dir = PrivateDir::open(&base.path().join("real")).unwrap();
        symlink("real", base.path().join("link")).unwrap();
        assert!(PrivateDir::open(&base.path().join("link")).is_err());
        dir.write("x", b"1").unwrap();
        symlink("x", base.path().join("real/y")).unwrap();
        assert!(dir.read("y", 9).is_err());
        rustix::fs::mkfifoat(&dir.0, "pipe", Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!(dir.read("pipe", 9).unwrap_err().to_string(), "it is not a regular file");
        assert_eq!(dir.list().unwrap().len(), 1);
    }
}
