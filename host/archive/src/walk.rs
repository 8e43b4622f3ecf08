//! Going through a directory whose content nobody vouches for, in an order that does not depend on the file system.

use std::ffi::OsString;
use std::io;

use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions};

use crate::member::{MemberName, NameFault, NameLimits, shown};

/// Why something in a directory was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftOut {
    /// A symbolic link: where it leads is nobody's business here.
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
    /// Something that is neither file nor directory, of a kind not known here.
    #[error("neither a file nor a directory")]
    Other,
    /// Its name could not be unpacked again.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// It was removed before its turn came.
    #[error("removed meanwhile")]
    Vanished,
}

/// What a walk met.
pub(crate) enum Met<'a> {
    /// A directory; what is in it follows.
    Dir { name: &'a MemberName, metadata: Metadata },
    /// A regular file, open, with what is known of it.
    File { name: &'a MemberName, file: File, metadata: Metadata },
    /// Something that is left out: its name, escaped and cut, and why.
    LeftOut { shown: String, why: LeftOut },
}

/// Why a walk ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    /// More entries than the limit, given here.
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    /// Something could not be read.
    #[error("failed to read `{shown}`: {source}")]
    Read { shown: String, source: io::Error },
}

/// What a walk may meet.
#[derive(Debug, Clone)]
pub(crate) struct WalkLimits {
    pub entries: u64,
    pub names: NameLimits,
}

/// Calls `each` with everything below `root`: a directory before what is in it, and otherwise in the order of the bytes of names.
///
/// Nothing leads out of `root`: every step opens one name relative to the directory before it, and names that are links are left
/// out. One that becomes a link between looking and opening leads, at most, to another place below the same directory.
pub(crate) fn walk<E: From<WalkError>>(
    root: &Dir,
    limits: &WalkLimits,
    each: &mut dyn FnMut(Met<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut walk = Walk { limits, entries: 0, each };
    walk.directory(root, "")
}

struct Walk<'a, E> {
    limits: &'a WalkLimits,
    entries: u64,
    each: &'a mut dyn FnMut(Met<'_>) -> Result<(), E>,
}

impl<E: From<WalkError>> Walk<'_, E> {
    /// Recursive, but names have a limit of depth.
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
        let left_out = |why| Met::LeftOut { shown: shown(&raw), why };
        let failed = |source| WalkError::Read { shown: shown(&raw), source };

        let metadata = match dir.symlink_metadata(base) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (self.each)(left_out(LeftOut::Vanished)),
            Err(error) => return Err(failed(error).into()),
        };
        let file_type = metadata.file_type();
        if !file_type.is_dir() && !file_type.is_file() {
            return (self.each)(left_out(special(file_type)));
        }
        let name = match MemberName::parse(&raw, &self.limits.names) {
            Ok(name) => name,
            Err(fault) => return (self.each)(left_out(LeftOut::Name(fault))),
        };
        if file_type.is_dir() {
            let below = match dir.open_dir(base) {
                Ok(below) => below,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return (self.each)(left_out(LeftOut::Vanished));
                }
                Err(error) => return Err(failed(error).into()),
            };
            (self.each)(Met::Dir { name: &name, metadata })?;
            return self.directory(&below, name.as_str());
        }
        let file = match dir.open_with(base, &to_read()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (self.each)(left_out(LeftOut::Vanished)),
            Err(error) => return Err(failed(error).into()),
        };
        // Of the file that is open now, which need not be the one that was looked at.
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return (self.each)(left_out(special(metadata.file_type())));
        }
        (self.each)(Met::File { name: &name, file, metadata })
    }
}

/// For reading, without waiting for a writer where a named pipe has taken the file's place.
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

fn special(file_type: FileType) -> LeftOut {
    #[cfg(unix)]
    {
        use cap_std::fs::FileTypeExt;
        if file_type.is_socket() {
            return LeftOut::Socket;
        } else if file_type.is_fifo() {
            return LeftOut::Fifo;
        } else if file_type.is_block_device() || file_type.is_char_device() {
            return LeftOut::Device;
        }
    }
    if file_type.is_symlink() { LeftOut::Symlink } else { LeftOut::Other }
}
