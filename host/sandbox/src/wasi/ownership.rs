//! The directories that a check may read, and the owners and modes of the files in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{Mode, OFlags};
use wasmtime_wasi::filesystem::Dir as Preopen;
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::call::emit::ENTRY_BYTES;
use crate::call::limits::{Clock, Meter};
use crate::failure::{Stop, quoted};

/// The maximum length in bytes of a path that a sentence quotes.
const MAX_QUOTED: usize = 300;

/// How to open a directory on the way to another one. It need not be readable.
#[cfg(target_os = "linux")]
const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const SEARCH: OFlags = OFlags::empty();

/// A directory that a check may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The path that the check uses.
    pub path: String,
    /// The directory on this machine. In a pod, it is where the node's directory is mounted.
    pub source: PathBuf,
    /// The file system of a node, in which the directory is. No symbolic link in it is followed. `None`
    /// if this machine is the node.
    pub root: Option<PathBuf>,
}

impl Directory {
    /// Returns the directory on this machine for `path` of a node whose file system is at `root`. An
    /// empty `root` means that this machine is the node.
    ///
    /// Below a root, a symbolic link of the node would lead into the file system of this machine, so
    /// it is not followed. It is then a directory that cannot be opened.
    ///
    /// # Errors
    /// Returns a sentence if it does not exist.
    pub fn of_node(root: &Path, path: &str) -> Result<Self, String> {
        let path = path.to_owned();
        let directory = if root.as_os_str().is_empty() {
            Self { source: PathBuf::from(&path), path, root: None }
        } else {
            Self { source: root.join(path.trim_start_matches('/')), path, root: Some(root.to_owned()) }
        };
        match directory.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error.to_string()),
            // A check must not take what it may not see for what does not exist.
            _ => Ok(directory),
        }
    }

    pub(super) fn open(&self) -> io::Result<Dir> {
        let opened = match &self.root {
            Some(root) => self.open_below(root),
            None => Dir::open_ambient_dir(&self.source, ambient_authority()),
        };
        opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => io::Error::new(error.kind(), "not a directory"),
            _ => error,
        })
    }

    /// Opens one part of the path after the other, so no part can become a link after it was checked.
    fn open_below(&self, root: &Path) -> io::Result<Dir> {
        let mut dir = Dir::open_ambient_dir(root, ambient_authority())?;
        for part in self.source.strip_prefix(root).map_err(io::Error::other)?.components() {
            let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
            let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(&dir, part, flags, Mode::empty()).map_err(|error| {
                match dir.symlink_metadata(part) {
                    Ok(found) if found.is_symlink() => {
                        io::Error::other("a part of its path is a symbolic link on this node: grant the target")
                    }
                    _ => error.into(),
                }
            });
            dir = opened?.into();
        }
        Ok(dir)
    }
}

/// The owner and the mode of a file, by POSIX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The permissions, and the type if it is known (`st_mode`).
    pub mode: u32,
    /// The user ID.
    pub uid: u32,
    /// The group ID.
    pub gid: u32,
}

/// Attributes by path, in place of those on disk. Other files belong to root.
pub(crate) type Recorded = BTreeMap<String, Attributes>;

/// What stands for a directory that cannot be opened. The kernel opens nothing below a device.
const STAND_IN: &str = "/dev/null";

/// The directories of a check. Empty for a call of another role.
#[derive(Default)]
pub(crate) struct Directories {
    opened: Vec<(String, Dir)>,
    /// Those that cannot be opened, with what stands for them.
    denied: Vec<(String, Preopen)>,
    recorded: Option<Recorded>,
}

impl Directories {
    pub(super) const fn new(recorded: Option<Recorded>) -> Self {
        Self { opened: Vec::new(), denied: Vec::new(), recorded }
    }

    pub(super) fn add(&mut self, path: &str, dir: Dir) {
        self.opened.push((path.to_owned(), dir));
    }

    /// Adds a directory that cannot be opened, in which nothing is permitted. If an opened directory
    /// contains it, that one decides, and the result is false.
    pub(super) fn deny(&mut self, path: &str) -> io::Result<bool> {
        if self.opened.iter().any(|(directory, _)| below(path, directory).is_some()) {
            return Ok(false);
        }
        let stand_in = Preopen::new(File::open(STAND_IN)?, FsPerms::ReadOnly, OpenMode::READ, true);
        self.denied.push((path.to_owned(), stand_in));
        Ok(true)
    }

    /// Returns the directories that cannot be opened, with what stands for them.
    pub(super) fn denied(&self) -> &[(String, Preopen)] {
        &self.denied
    }

    /// Returns the attributes of a file, or `None` if it does not exist. The inner error is passed to
    /// the module. `cap-std` keeps the path inside its directory.
    pub(crate) fn attributes(
        &self,
        path: &str,
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Result<Option<Attributes>, String>, Stop> {
        clock.check()?;
        meter.charge(ENTRY_BYTES)?;
        let found =
            self.opened.iter().filter_map(|(directory, dir)| Some((directory.len(), dir, below(path, directory)?)));
        let Some((_, dir, rest)) = found.max_by_key(|(length, ..)| *length) else {
            let path_text = quoted(path, MAX_QUOTED);
            let is_denied = self.denied.iter().any(|(directory, _)| below(path, directory).is_some());
            return Ok(Err(match is_denied {
                true => format!("failed to read the owner of {path_text}: not permitted"),
                false => format!("no granted directory contains {path_text}"),
            }));
        };
        let metadata = if rest.is_empty() { dir.dir_metadata() } else { dir.metadata(rest) };
        Ok(match metadata {
            Ok(metadata) => Ok(Some(self.attributes_of(path, &metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("failed to read the owner of {}: {error}", quoted(path, MAX_QUOTED))),
        })
    }

    fn attributes_of(&self, path: &str, metadata: &Metadata) -> Attributes {
        let Some(recorded) = &self.recorded else {
            return Attributes { mode: metadata.mode(), uid: metadata.uid(), gid: metadata.gid() };
        };
        let mode = if metadata.is_dir() { 0o040_755 } else { 0o100_644 };
        recorded.get(path).copied().unwrap_or(Attributes { mode, uid: 0, gid: 0 })
    }
}

/// Returns the part of `path` below `directory`, or `None` if it is not in it.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/').map(|rest| rest.trim_start_matches('/')) }
}
