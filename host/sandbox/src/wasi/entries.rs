//! What a check has open, and the entries of a directory, read one by one.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use wasmtime_wasi::p2::FsError;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types::{DescriptorType, DirectoryEntry};

use crate::call::emit::ENTRY_BYTES;
use crate::call::limits::Meter;
use crate::failure::{OPEN_FILES, Stop, Unit};

/// The maximum number of files and directories that a check has open at the same time. Processes
/// often may open 1,024 files, and the host needs some of them.
const MAX_OPEN: usize = 256;

#[derive(Default)]
pub(crate) struct OpenFiles {
    count: Arc<()>,
    /// The descriptors by their numbers. Granted directories are not among them.
    pub(super) descriptors: HashMap<u32, Ticket>,
}

/// Counts as an open file while it exists.
pub(super) type Ticket = Arc<TicketOf>;

/// The content of a [`Ticket`].
pub(super) struct TicketOf {
    _count: Arc<()>,
}

impl OpenFiles {
    pub(super) fn ticket(&self) -> Result<Ticket, Stop> {
        if Arc::strong_count(&self.count) > MAX_OPEN {
            return Err(Stop::limit(OPEN_FILES, MAX_OPEN as u64, Unit::Files));
        }
        Ok(Arc::new(TicketOf { _count: Arc::clone(&self.count) }))
    }
}

pub(super) struct Entries {
    directory: Arc<File>,
    rest: Dir,
    _ticket: Ticket,
}

impl Entries {
    pub(super) fn open(directory: &Arc<File>, ticket: Ticket) -> Result<Self, FsError> {
        let rest = Dir::read_from(&**directory).map_err(failed)?;
        Ok(Self { directory: Arc::clone(directory), rest, _ticket: ticket })
    }

    /// Returns the next entry, or `None` at the end. The inner error is that of one entry.
    pub(super) fn next(&mut self, meter: &Meter) -> Result<Option<Result<DirectoryEntry, FsError>>, Stop> {
        loop {
            let entry = match self.rest.next() {
                None => return Ok(None),
                Some(Err(error)) => return Ok(Some(Err(failed(error)))),
                Some(Ok(entry)) => entry,
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            meter.charge((name.to_bytes().len() as u64).saturating_add(ENTRY_BYTES))?;
            let Ok(text) = name.to_str() else {
                return Ok(Some(Err(ErrorCode::IllegalByteSequence.into())));
            };
            // Some file systems do not store the type in the directory.
            let type_ = match entry.file_type() {
                FileType::Unknown => statat(&*self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                known => known,
            };
            return Ok(Some(Ok(DirectoryEntry { type_: descriptor_type(type_), name: text.to_owned() })));
        }
    }
}

fn failed(error: rustix::io::Errno) -> FsError {
    std::io::Error::from(error).into()
}

fn descriptor_type(file_type: FileType) -> DescriptorType {
    match file_type {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::Fifo => DescriptorType::Fifo,
        FileType::Socket => DescriptorType::Socket,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Unknown => DescriptorType::Unknown,
    }
}
