//! File system steps between which a crash can occur.
//!
//! In production, each step is a system call and nothing else. Tests pass [`Faults`] to fail a
//! step, to shorten a write, or to copy a directory between two steps. A [`SpaceGuard`] decides
//! whether a step may take space.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The space that a new file or directory takes, in bytes: one block.
pub const ENTRY_BYTES: u64 = 4096;

/// A step that is about to happen.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// Creates a file.
    Create(&'a Path),
    /// Creates a file or directory with a random name in this directory.
    CreateTemporary(&'a Path),
    /// Writes this many bytes to a file at its current position.
    Write(&'a Path, usize),
    /// Truncates a file to this length.
    Truncate(&'a Path, u64),
    /// Makes the content of a file durable.
    Sync(&'a Path),
    /// Creates a directory.
    CreateDirectory(&'a Path),
    /// Renames a file or a directory.
    Rename(&'a Path, &'a Path),
    /// Removes a file, or a directory with all its content.
    Remove(&'a Path),
    /// Makes the entries of a directory durable.
    SyncDirectory(&'a Path),
    /// Makes a directory and all its descendants durable.
    SyncTree(&'a Path),
}

impl Step<'_> {
    /// Returns about how many bytes of space the step takes, or `None` if it takes none.
    fn space(self) -> Option<u64> {
        match self {
            Self::Create(_) | Self::CreateTemporary(_) | Self::CreateDirectory(_) => Some(ENTRY_BYTES),
            Self::Write(_, bytes) => Some(bytes as u64),
            Self::Truncate(..)
            | Self::Sync(_)
            | Self::Rename(..)
            | Self::Remove(_)
            | Self::SyncDirectory(_)
            | Self::SyncTree(_) => None,
        }
    }
}

/// Decides what may take space on a disk.
pub trait SpaceGuard: Send + Sync {
    /// Carries out `act`, which takes about `bytes`, by calling it once. If that space is reserved,
    /// fails with [`io::ErrorKind::StorageFull`] instead.
    fn take(&self, bytes: u64, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// Injects faults into steps, for tests.
pub trait Faults: Send + Sync {
    /// Carries out `step` by calling `act` once, or fails instead.
    fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;

    /// Returns how many of `bytes` the next write accepts, at least 1.
    fn accept(&self, bytes: usize) -> usize {
        bytes
    }

    /// Returns how many bytes are free. The default is small, so that tests write small reserves: 16
    /// MiB.
    fn free_bytes(&self) -> u64 {
        16 << 20
    }

    /// Returns the size of the file system in bytes. The default has no limit.
    fn size_bytes(&self) -> u64 {
        u64::MAX
    }
}

/// The file system that a run writes to. It is cheap to clone, and the default is the real one.
#[derive(Clone, Default)]
pub struct Disk {
    faults: Option<Arc<dyn Faults>>,
    guard: Option<Arc<dyn SpaceGuard>>,
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.faults.is_some() { "Disk(faulty)" } else { "Disk(real)" })
    }
}

impl Disk {
    /// Creates a file system that passes its steps to `faults`.
    pub fn faulty(faults: Arc<dyn Faults>) -> Self {
        Self { faults: Some(faults), guard: None }
    }

    /// Returns this file system for a user that takes space only as far as `guard` allows.
    #[must_use]
    pub fn guarded(&self, guard: Arc<dyn SpaceGuard>) -> Self {
        Self { faults: self.faults.clone(), guard: Some(guard) }
    }

    /// Carries out `act`, which implements `step`.
    pub fn step<T>(&self, step: Step<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let act = || match &self.faults {
            Some(faults) => call_once(act, |act| faults.step(step, act)),
            None => act(),
        };
        match step.space() {
            Some(bytes) => self.take_space(bytes, act),
            None => act(),
        }
    }

    /// Carries out `act`, which takes about `bytes` of space, as every step does that takes space.
    ///
    /// # Errors
    /// Returns the error of `act`, or [`io::ErrorKind::StorageFull`] if the space is reserved.
    pub fn take_space<T>(&self, bytes: u64, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.guard {
            Some(guard) => call_once(act, |act| guard.take(bytes, act)),
            None => act(),
        }
    }

    /// Creates a new file at `path`.
    pub fn create(&self, path: &Path) -> io::Result<DiskFile> {
        let file = self.step(Step::Create(path), || File::create_new(path))?;
        Ok(self.file(file, path))
    }

    /// Wraps `file`, which was opened at `path`.
    pub fn file(&self, file: File, path: &Path) -> DiskFile {
        DiskFile { file, path: path.to_owned(), disk: self.clone() }
    }

    /// Creates the directory `path` and its missing parents, and makes each durable in its parent.
    pub fn create_directories(&self, path: &Path) -> io::Result<()> {
        self.create_with_parents(path, 0o777)
    }

    /// Creates the directory `path` and its missing parents, durably and only for their owner.
    pub fn create_private_directories(&self, path: &Path) -> io::Result<()> {
        self.create_with_parents(path, 0o700)
    }

    fn create_with_parents(&self, path: &Path, mode: u32) -> io::Result<()> {
        // The parent of a relative path with one component is the current directory.
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        match self.step(Step::CreateDirectory(path), || fs::DirBuilder::new().mode(mode).create(path)) {
            Ok(()) => parent.map_or(Ok(()), |parent| self.sync_directory(parent)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create_with_parents(parent.ok_or(error)?, mode)?;
                self.create_with_parents(path, mode)
            }
            Err(error) => Err(error),
        }
    }

    /// Renames a file or directory.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(Step::Rename(from, to), || fs::rename(from, to))
    }

    /// Removes the file `path` if it exists.
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step(Step::Remove(path), || absent_is_fine(fs::remove_file(path)))
    }

    /// Removes the directory `path` with all its content, if it exists.
    ///
    /// # Errors
    /// Returns the error of the operating system. A part of the directory may then be gone.
    pub fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step(Step::Remove(path), || absent_is_fine(fs::remove_dir_all(path)))
    }

    /// Makes created, renamed and removed files in `path` durable.
    pub fn sync_directory(&self, path: &Path) -> io::Result<()> {
        // A bare name has an empty parent.
        let opened = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.step(Step::SyncDirectory(path), || File::open(opened)?.sync_all())
    }

    /// Returns how many bytes an unprivileged process can still write to the file system of `path`.
    ///
    /// # Errors
    /// Returns the error of the operating system, or [`io::ErrorKind::Unsupported`] if the file
    /// system does not report its size.
    pub fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        if let Some(faults) = &self.faults {
            return Ok(faults.free_bytes());
        }
        let found = file_system(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Returns the size of the file system of `path` in bytes, whatever is in use of it.
    pub fn size_bytes(&self, path: &Path) -> io::Result<u64> {
        if let Some(faults) = &self.faults {
            return Ok(faults.size_bytes());
        }
        let found = file_system(path)?;
        Ok(found.f_blocks.saturating_mul(found.f_frsize))
    }

    pub(crate) fn write(&self, mut file: impl Write, path: &Path, data: &[u8]) -> io::Result<usize> {
        let accepted = self.faults.as_ref().map_or(data.len(), |faults| faults.accept(data.len()));
        let data = data.get(..accepted).unwrap_or(data);
        self.step(Step::Write(path, data.len()), || file.write(data))
    }
}

fn file_system(path: &Path) -> io::Result<rustix::fs::StatVfs> {
    let found = rustix::fs::statvfs(path)?;
    if found.f_blocks == 0 { Err(io::ErrorKind::Unsupported.into()) } else { Ok(found) }
}

/// Passes `run` a function that calls `act` once, and returns the result of `act`.
fn call_once<T>(
    act: impl FnOnce() -> io::Result<T>,
    run: impl FnOnce(&mut dyn FnMut() -> io::Result<()>) -> io::Result<()>,
) -> io::Result<T> {
    let (mut act, mut result) = (Some(act), None);
    run(&mut || {
        if let Some(act) = act.take() {
            result = Some(act()?);
        }
        Ok(())
    })?;
    result.ok_or_else(|| io::Error::other("the step was skipped"))
}

/// Returns whether `error` means that the disk is full, which can change.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// An open file on a [`Disk`].
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
    disk: Disk,
}

impl DiskFile {
    /// Makes the content durable.
    ///
    /// # Errors
    /// Returns the error of the operating system. It is then unknown which of the bytes since the
    /// last sync are durable.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.step(Step::Sync(&self.path), || self.file.sync_all())
    }

    /// Truncates the file to `length` and seeks to its end.
    pub fn truncate(&mut self, length: u64) -> io::Result<()> {
        let file = &mut self.file;
        self.disk.step(Step::Truncate(&self.path, length), || {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length)).map(drop)
        })
    }
}

impl Read for DiskFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Write for DiskFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.disk.write(&mut self.file, &self.path, data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
