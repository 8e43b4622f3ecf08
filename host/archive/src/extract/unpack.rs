//! An uploaded `.tar.gz`, onto disk.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::{ExtractError, Hostility};
use super::limits::{ExtractLimits, MAX_SKIPPED_LISTED};
use super::sink::{Sink, write_error};
use crate::member::{Kind, Member, MemberName, SkipKind, StreamError, each_member};

/// A member that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name, escaped and cut: for people.
    pub member: String,
    /// What it is.
    pub why: SkipKind,
}

/// What was unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extracted {
    /// Files written. One that comes twice counts twice.
    pub files: u64,
    /// Members that are directories; those that only appear in names of files do not count.
    pub dirs: u64,
    /// Files and directories written, counting directories that appear only in names of files.
    pub entries: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Members left out, the first [`MAX_SKIPPED_LISTED`] of them.
    pub skipped: Vec<Skipped>,
    /// How many members were left out.
    pub skipped_total: u64,
    /// Bytes after the end of the archive that are not padding. They are not unpacked: what comes after the end is no part of
    /// an archive, but a sender who appended one archive to another would like to know.
    pub trailing: u64,
}

impl Extracted {
    pub(crate) fn skip(&mut self, member: &str, why: SkipKind) {
        self.skipped_total = self.skipped_total.saturating_add(1);
        if self.skipped.len() < MAX_SKIPPED_LISTED {
            self.skipped.push(Skipped { member: member.to_owned(), why });
        }
    }

    /// Writes `member` under `name`, or leaves it out.
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

/// Unpacks a gzipped tar archive (POSIX ustar and pax, GNU) from `reader` into the existing directory `dest`, streaming.
///
/// * Regular files and directories are written, files with mode 0644, or 0755 if anyone may execute them, directories with
///   0755, under the umask; owners, times and attributes are those of any new file. Missing parents are created.
/// * Symbolic and hard links, devices, named pipes and sparse files are left out and reported in [`Extracted::skipped`]: real
///   result archives hold links now and then, and losing the link is better than losing the results.
/// * An absolute name, one with `..`, a NUL byte, without being UTF-8 or over the limits of names refuses the whole archive, as
///   does a member whose place is taken by something of another kind. A file that comes twice is replaced, as tar does it.
/// * An archive or gzip stream that ends early is an error: its end marker and gzip's checksum and length must be there.
///   Several gzip members in a row count as one stream; what follows the end is read to the end and counted
///   ([`Extracted::trailing`]), not unpacked.
/// * Memory does not depend on the archive: two buffers of 64 KiB, the gzip window, at most 1 MiB of headers.
///
/// The caller gives a fresh directory and renames it into place afterwards, so nothing here guards what was there before
/// beyond this: no link is followed, and no file outside `dest` is touched, whoever else writes to `dest` meanwhile.
///
/// Blocks; meant for a thread of its own.
///
/// # Errors
/// [`ExtractError`]; [`ExtractError::blame`] says whose fault it is. What was written by then is left in `dest`.
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
                return Err(ExtractError::Hostile { member: member.shown.clone(), why: Hostility::Name(*fault) });
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
