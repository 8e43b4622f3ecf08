//! Unpacks an uploaded `.tar.gz` to disk.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::{ExtractError, MemberError};
use super::limits::{ExtractLimits, MAX_SKIPPED_LISTED};
use super::sink::{Sink, write_error};
use crate::member::{Kind, Member, MemberName, SkipKind, StreamError, each_member};

/// A skipped member and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name for display, escaped and cut.
    pub member: String,
    /// The reason.
    pub why: SkipKind,
}

/// The outcome of unpacking an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extracted {
    /// The number of files written. A file that occurs twice counts twice.
    pub files: u64,
    /// The number of directory members, without directories that only occur in names of files.
    pub dirs: u64,
    /// The number of files and directories written, including directories that only occur in names
    /// of files.
    pub entries: u64,
    /// The number of bytes written.
    pub bytes: u64,
    /// The first [`MAX_SKIPPED_LISTED`] skipped members.
    pub skipped: Vec<Skipped>,
    /// The number of skipped members.
    pub skipped_total: u64,
    /// The number of bytes after the end of the archive that are not padding. They are not part of
    /// the archive and not unpacked. The count lets a sender notice that it appended one archive to
    /// another.
    pub trailing: u64,
}

impl Extracted {
    pub(crate) fn skip(&mut self, member: &str, why: SkipKind) {
        self.skipped_total = self.skipped_total.saturating_add(1);
        if self.skipped.len() < MAX_SKIPPED_LISTED {
            self.skipped.push(Skipped { member: member.to_owned(), why });
        }
    }

    /// Writes `member` under `name`, or skips it.
    pub(crate) fn take(
        &mut self,
        member: &mut Member<'_>,
        name: &MemberName,
        sink: &mut Sink,
    ) -> Result<(), ExtractError> {
        match member.kind {
            Kind::Dir => {
                sink.dir(name)?;
                self.dirs += 1;
            }
            Kind::File { executable } => {
                let mut file = sink.file(name, executable)?;
                member.copy_to(|data| file.write_all(data).map_err(|source| write_error(name, source)))?;
                self.files += 1;
                self.bytes += member.size;
            }
            Kind::Skip(kind) => self.skip(&member.shown, kind),
            Kind::Note => {}
        }
        Ok(())
    }
}

/// Unpacks a gzipped tar archive (POSIX ustar and pax, GNU) from `reader` into the existing
/// directory `dest`, streaming.
///
/// * Regular files and directories are written. Files get mode 0644, or 0755 if anyone may execute
///   them, and directories 0755, under the umask. Owners, times and attributes are those of new
///   files. Missing parents are created.
/// * Symbolic and hard links, devices, named pipes and sparse files are skipped and reported in
///   [`Extracted::skipped`]. Real results occasionally contain links, and losing a link is better
///   than losing the results.
/// * A name that is absolute, contains `..` or a NUL byte, is not UTF-8, or exceeds the limits
///   makes the whole archive invalid. So does a member whose path is taken by something of another
///   kind. A file that occurs twice is replaced, as in tar.
/// * A truncated archive or gzip stream is an error: the end marker, and the checksum and length of
///   gzip, must be there. Several consecutive gzip members form one stream. Data after the end is
///   read and counted ([`Extracted::trailing`]), but not unpacked.
/// * Memory does not depend on the archive: two buffers of 64 KiB, the gzip window, and at most 1
///   MiB of headers.
///
/// The caller passes a new directory and renames it into place afterwards. Existing files in `dest`
/// are protected only as follows: no link is followed, and no file outside of `dest` is touched.
/// This holds even if another process writes to `dest` meanwhile.
///
/// The function blocks, so call it on a thread of its own.
///
/// # Errors
///
/// Returns an [`ExtractError`]. [`ExtractError::blame`] says who is responsible. Files that were
/// already written stay in `dest`.
pub fn extract_tar_gz(reader: impl Read, dest: &Path, limits: &ExtractLimits) -> Result<Extracted, ExtractError> {
    let root = Dir::open_ambient_dir(dest, ambient_authority())
        .map_err(|source| ExtractError::Open { dir: dest.to_owned(), source })?;
    let mut sink = Sink::new(root);
    let mut extracted = Extracted::default();
    let mut name_bytes = 0_u64;
    let seen = each_member(reader, &limits.stream(), |member| -> Result<_, ExtractError> {
        let name = match &member.name {
            Ok(name) => name.clone(),
            Err(fault) => {
                return Err(ExtractError::Hostile { member: member.shown.clone(), why: MemberError::Name(*fault) });
            }
        };
        name_bytes = name_bytes.saturating_add(name.as_str().len() as u64);
        if name_bytes > limits.name_bytes {
            return Err(StreamError::TooManyNameBytes(limits.name_bytes).into());
        }
        extracted.take(member, &name, &mut sink)?;
        extracted.entries = extracted.files.saturating_add(sink.directories());
        if extracted.entries > limits.entries {
            return Err(StreamError::TooManyEntries(limits.entries).into());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    extracted.trailing = seen.trailing;
    Ok(extracted)
}
