//! Traverses an untrusted directory in an order that does not depend on the file system.

use std::ffi::OsString;
use std::io;

use cap_std::fs::{Dir, File, FileType, FileTypeExt, Metadata, OpenOptions, OpenOptionsExt};
use plumbline_core::text::Printable;

use crate::member::{MemberName, NameLimits, SkipReason, Skipped, shown};

/// An entry that a traversal found.
pub(crate) enum WalkEntry<'a> {
    /// A directory, followed by its content.
    Dir { name: &'a MemberName, metadata: Metadata },
    /// An open regular file with its metadata.
    File { name: &'a MemberName, file: File, metadata: Metadata },
    /// An entry that is left out, with the reason.
    Skipped(Skipped),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    #[error("more than {0} files and directories")]
    TooManyEntries(u64),
    #[error("failed to read `{shown}`: {source}")]
    Read { shown: Printable, source: io::Error },
}

/// Calls `each` for everything in `root`: a directory before its content, and otherwise in byte
/// order of names.
///
/// Nothing leads out of `root`. Every step opens one name relative to the directory before it, and
/// links are skipped. An entry that becomes a link between checking and opening leads, at most, to
/// another path inside the same directory.
pub(crate) fn walk<E: From<WalkError>>(
    root: &Dir,
    max_entries: u64,
    names: &NameLimits,
    each: &mut dyn FnMut(WalkEntry<'_>) -> Result<(), E>,
) -> Result<(), E> {
    Walk { max_entries, names, entries: 0, each }.directory(root, "")
}

struct Walk<'a, E> {
    max_entries: u64,
    names: &'a NameLimits,
    entries: u64,
    each: &'a mut dyn FnMut(WalkEntry<'_>) -> Result<(), E>,
}

impl<E: From<WalkError>> Walk<'_, E> {
    /// Recursive, but the depth of names is limited.
    fn directory(&mut self, dir: &Dir, path: &str) -> Result<(), E> {
        let failed =
            |source| WalkError::Read { shown: shown(if path.is_empty() { b"." } else { path.as_bytes() }), source };
        let mut names = Vec::new();
        for entry in dir.entries().map_err(failed)? {
            if self.entries >= self.max_entries {
                return Err(WalkError::TooManyEntries(self.max_entries).into());
            }
            self.entries += 1;
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
        names.iter().try_for_each(|base| self.entry(dir, path, base))
    }

    fn entry(&mut self, dir: &Dir, path: &str, base: &OsString) -> Result<(), E> {
        let mut raw = path.as_bytes().to_vec();
        if !raw.is_empty() {
            raw.push(b'/');
        }
        raw.extend_from_slice(base.as_encoded_bytes());
        let opened = match open(dir, base, &raw, self.names) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SkipReason::Vanished),
            opened => opened.map_err(|source| WalkError::Read { shown: shown(&raw), source })?,
        };
        match opened {
            Err(why) => (self.each)(WalkEntry::Skipped(Skipped { member: shown(&raw), why })),
            Ok((name, Opened::Dir(below), metadata)) => {
                (self.each)(WalkEntry::Dir { name: &name, metadata })?;
                self.directory(&below, name.as_str())
            }
            Ok((name, Opened::File(file), metadata)) => (self.each)(WalkEntry::File { name: &name, file, metadata }),
        }
    }
}

enum Opened {
    Dir(Dir),
    File(File),
}

/// Opens the entry `base` of `dir` with the path `raw`, or returns why it is skipped.
fn open(
    dir: &Dir,
    base: &OsString,
    raw: &[u8],
    limits: &NameLimits,
) -> io::Result<Result<(MemberName, Opened, Metadata), SkipReason>> {
    let metadata = dir.symlink_metadata(base)?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Ok(Err(special(metadata.file_type())));
    }
    let name = match MemberName::parse(raw, limits) {
        Ok(name) => name,
        Err(fault) => return Ok(Err(SkipReason::Name(fault))),
    };
    if metadata.is_dir() {
        return Ok(Ok((name, Opened::Dir(dir.open_dir(base)?), metadata)));
    }
    let file = dir.open_with(base, &to_read())?;
    // The metadata of the open file, which may differ from the entry that was checked.
    let metadata = file.metadata()?;
    Ok(if metadata.is_file() { Ok((name, Opened::File(file), metadata)) } else { Err(special(metadata.file_type())) })
}

/// Returns options to open a file for reading, without blocking if a named pipe has replaced the
/// file.
pub(crate) fn to_read() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

fn special(file_type: FileType) -> SkipReason {
    if file_type.is_socket() {
        SkipReason::Socket
    } else if file_type.is_fifo() {
        SkipReason::Fifo
    } else if file_type.is_block_device() || file_type.is_char_device() {
        SkipReason::Device
    } else if file_type.is_symlink() {
        SkipReason::Symlink
    } else {
        SkipReason::Other
    }
}
