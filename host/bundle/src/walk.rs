//! Search for the files of a bundle in a directory.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::BundleError;
use crate::limits::{MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_WALKED};
use crate::name::{self, EntryFault, shown};
use crate::selection::Selection;

/// Returns the names of the files that belong to the bundle in `root`, sorted.
///
/// Links are never followed. A link that is selected by name or pattern is an error, so that no
/// file goes missing unnoticed.
pub(crate) fn walk(root: &Path, selection: &Selection) -> Result<Vec<String>, BundleError> {
    let mut walk = Walk { root, selection, names: Vec::new(), seen: 0 };
    walk.directory("")?;
    walk.names.sort_unstable();
    Ok(walk.names)
}

struct Walk<'a> {
    root: &'a Path,
    selection: &'a Selection,
    names: Vec<String>,
    seen: u64,
}

impl Walk<'_> {
    fn directory(&mut self, dir: &str) -> Result<(), BundleError> {
        let path = self.root.join(dir);
        let failed = |source| BundleError::Read { path: path.clone(), source };
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            self.seen += 1;
            if self.seen > MAX_WALKED {
                return Err(BundleError::TooMuchToWalk(self.root.to_owned()));
            }
            let mut raw = dir.as_bytes().to_vec();
            if !raw.is_empty() {
                raw.push(b'/');
            }
            raw.extend_from_slice(entry.file_name().as_encoded_bytes());
            // The type of the link itself, not of its target.
            let kind = entry.file_type().map_err(failed)?;
            self.entry(&raw, kind)?;
        }
        Ok(())
    }

    fn entry(&mut self, raw: &[u8], kind: FileType) -> Result<(), BundleError> {
        // A name that is not UTF-8 is matched as it would be displayed, so that it causes an error
        // instead of being skipped.
        let text = String::from_utf8_lossy(raw);
        if kind.is_dir() {
            // The limit is the longest possible path. A file whose path is too deep causes an error
            // itself.
            return match self.selection.may_hold(&text) && raw.len() <= 4096 {
                true => self.directory(&text),
                false => Ok(()),
            };
        }
        let refused = |why| Err(BundleError::Refused { file: shown(raw), why });
        let led_through = kind.is_symlink() && self.selection.may_hold(&text);
        if !led_through && !self.selection.takes(&text) {
            return Ok(());
        }
        if let Some(fault) = special(kind) {
            return refused(fault);
        }
        match name::check(raw) {
            Ok(name) => self.names.push(name.to_owned()),
            Err(fault) => return refused(fault),
        }
        if self.names.len() as u64 > MAX_ENTRIES {
            return Err(BundleError::TooManyFiles(self.root.to_owned()));
        }
        Ok(())
    }
}

fn special(kind: FileType) -> Option<EntryFault> {
    if kind.is_symlink() {
        Some(EntryFault::Symlink)
    } else if kind.is_socket() {
        Some(EntryFault::Socket)
    } else if kind.is_fifo() {
        Some(EntryFault::Fifo)
    } else if kind.is_block_device() || kind.is_char_device() {
        Some(EntryFault::Device)
    } else {
        None
    }
}

pub(crate) fn read(root: &Path, name: &str) -> Result<(Vec<u8>, bool), BundleError> {
    let path = root.join(name);
    let failed = |source| BundleError::Read { path: path.clone(), source };
    let file = open(&path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
            BundleError::Refused { file: shown(name.as_bytes()), why: EntryFault::Symlink }
        }
        _ => failed(error),
    })?;
    let metadata = file.metadata().map_err(failed)?;
    if let Some(why) = special(metadata.file_type()) {
        return Err(BundleError::Refused { file: shown(name.as_bytes()), why });
    }
    let mut content = Vec::new();
    file.take(MAX_ENTRY_BYTES + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > MAX_ENTRY_BYTES {
        return Err(BundleError::FileTooLarge { file: name.to_owned(), bytes: metadata.len() });
    }
    Ok((content, metadata.permissions().mode() & 0o100 != 0))
}

/// Opens a file for reading. If a link or named pipe has replaced it, the call neither follows the
/// link nor waits for a writer.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}
