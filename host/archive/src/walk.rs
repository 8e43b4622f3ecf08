//! Traverses an untrusted directory in an order that does not depend on the file system.

use std::ffi::OsString;
use std::io;

use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use crate::member::{MemberName, NameFault, NameLimits, shown};

/// Why an entry of a directory was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// A symbolic link, wherever it points.
    #[error("a symbolic link")]
    Symlink,
    /// A socket.
    #[error("a socket")]
    Socket,
    /// A named pipe.
    #[error("a named pipe")]
    Fifo,
    /// A character or block device.
    #[error("a device")]
    Device,
    /// An unknown kind that is neither a file nor a directory.
    #[error("neither a file nor a directory")]
    Other,
    /// A name that could not be unpacked again.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// The entry was removed before it was read.
    #[error("removed meanwhile")]
    Vanished,
}

/// An entry that a traversal found.
pub(crate) enum WalkEntry<'a> {
    /// A directory, followed by its content.
    Dir { name: &'a MemberName, metadata: Metadata },
    /// An open regular file with its metadata.
    File { name: &'a MemberName, file: File, metadata: Metadata },
    /// A skipped entry with its name, escaped and cut, and the reason.
    SkipReason { shown: String, why: SkipReason },
}

/// Why a traversal ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    /// There are more entries than this limit.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// An entry could not be read.
    #[error("failed to read `{shown}`: {source}")]
    Read { shown: String, source: io::Error },
}

/// The limits of a traversal.
#[derive(Debug, Clone)]
pub(crate) struct WalkLimits {
    pub entries: u64,
    pub names: NameLimits,
}

/// Calls `each` for everything in `root`: a directory before its content, and otherwise in byte
/// order of names.
///
/// Nothing leads out of `root`. Every step opens one name relative to the directory before it, and
/// links are skipped. An entry that becomes a link between checking and opening leads, at most, to
/// another path inside the same directory.
pub(crate) fn walk<E: From<WalkError>>(
    root: &Dir,
    limits: &WalkLimits,
    each: &mut dyn FnMut(WalkEntry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut walk = Walk { limits, entries: 0, each };
    walk.directory(root, "")
}

struct Walk<'a, E> {
    limits: &'a WalkLimits,
    entries: u64,
    each: &'a mut dyn FnMut(WalkEntry<'_>) -> Result<(), E>,
}

impl<E: From<WalkError>> Walk<'_, E> {
    /// Recursive, but the depth of names is limited.
    fn directory(&mut self, dir: &Dir, path: &str) -> Result<(), E> {
        for base in self.list(dir, path)? {
            self.entry(dir, path, &base)?;
        }
        Ok(())
    }

    fn list(&mut self, dir: &Dir, path: &str) -> Result<Vec<OsString>, E> {
        let failed =
            |source| WalkError::Read { shown: shown(if path.is_empty() { b"." } else { path.as_bytes() }), source };
        let mut names = Vec::new();
        for entry in dir.entries().map_err(failed)? {
            if self.entries >= self.limits.entries {
                return Err(WalkError::TooManyEntries(self.limits.entries).into());
            }
            self.entries += 1;
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        Ok(names)
    }

    fn entry(&mut self, dir: &Dir, path: &str, base: &OsString) -> Result<(), E> {
        let mut raw = path.as_bytes().to_vec();
        if !raw.is_empty() {
            raw.push(b'/');
        }
        raw.extend_from_slice(base.as_encoded_bytes());
        let left_out = |why| WalkEntry::SkipReason { shown: shown(&raw), why };
        let failed = |source| WalkError::Read { shown: shown(&raw), source };

        let metadata = match dir.symlink_metadata(base) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return (self.each)(left_out(SkipReason::Vanished));
            }
            Err(error) => return Err(failed(error).into()),
        };
        let file_type = metadata.file_type();
        if !file_type.is_dir() && !file_type.is_file() {
            return (self.each)(left_out(special(file_type)));
        }
        let name = match MemberName::parse(&raw, &self.limits.names) {
            Ok(name) => name,
            Err(fault) => return (self.each)(left_out(SkipReason::Name(fault))),
        };
        if file_type.is_dir() {
            let below = match dir.open_dir(base) {
                Ok(below) => below,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return (self.each)(left_out(SkipReason::Vanished));
                }
                Err(error) => return Err(failed(error).into()),
            };
            (self.each)(WalkEntry::Dir { name: &name, metadata })?;
            return self.directory(&below, name.as_str());
        }
        let file = match dir.open_with(base, &to_read()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return (self.each)(left_out(SkipReason::Vanished));
            }
            Err(error) => return Err(failed(error).into()),
        };
        // The metadata of the open file, which may differ from the entry that was checked.
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return (self.each)(left_out(special(metadata.file_type())));
        }
        (self.each)(WalkEntry::File { name: &name, file, metadata })
    }
}

/// Returns options to open a file for reading, without blocking if a named pipe has replaced the
/// file.
pub(crate) fn to_read() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options
}

fn special(file_type: FileType) -> SkipReason {
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt;
        if file_type.is_socket() {
            return SkipReason::Socket;
        } else if file_type.is_fifo() {
            return SkipReason::Fifo;
        } else if file_type.is_block_device() || file_type.is_char_device() {
            return SkipReason::Device;
        }
    }
    if file_type.is_symlink() { SkipReason::Symlink } else { SkipReason::Other }
}
