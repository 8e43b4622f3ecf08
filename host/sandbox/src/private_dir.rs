//! A directory that only this user may write to, and its equally trusted files.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};

const OTHERS_WRITE: u32 = 0o022;
/// The prefix of names of incomplete files.
const UNFINISHED: &str = ".new-";

/// An open directory. Even if its path changes, the files are those of the directory that was
/// checked.
#[derive(Debug)]
pub(crate) struct PrivateDir(OwnedFd);

#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// The modification time in seconds since 1970.
    pub(crate) modified: i64,
    /// Whether the file is being written, or was left behind by a killed process.
    pub(crate) unfinished: bool,
}

impl PrivateDir {
    /// Opens the directory, and creates it with mode 0700 if it does not exist.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        // The last component must not be a link, because the owner of a link could exchange its
        // target.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        check_owner(&file)?;
        Ok(Self(file.into()))
    }

    /// Reads a file of at most `max` bytes. Returns `None` if it does not exist.
    pub(crate) fn read(&self, name: &str, max: u64) -> io::Result<Option<Vec<u8>>> {
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
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
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

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::empty()) {
            Err(rustix::io::Errno::NOENT) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn list(&self) -> io::Result<Vec<Listed>> {
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
        return Err(io::Error::other(format!("other users can write to it (mode {:o})", metadata.mode() & 0o7777)));
    }
    Ok(())
}

#[cfg(test)]
#[path = "private_dir_tests.rs"]
mod tests;
