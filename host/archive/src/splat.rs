//! Sends all finished archives of a directory as one stream, the form in which clients retrieve
//! them from an aggregator (docs/protocol.md, "Retrieval"), and receives such a stream.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use plumbline_core::DigestWriter;
use plumbline_core::text::Printable;
use tar::{Builder, EntryType};

use crate::atomic::AtomicFile;
use crate::bounded::{ExactReader, Fault};
use crate::finished::{FinishedArchive, FinishedError, archive_names, is_plain, open};
use crate::gzip::{Digest, ParallelGzip};
use crate::member::{ExtractLimits, Kind, NameLimits, StreamError, each_member};
use crate::pack::header;

/// The level of the outer gzip. The content is already compressed, so a higher level would only
/// take time.
const LEVEL: u32 = 0;

const TAR_BLOCK: usize = 512;

/// The maximum number of archives in one stream. Default 100: each is an open file until the end of
/// the stream.
const MAX_ARCHIVES: u64 = 100;

/// The maximum size of all archives of one stream in bytes. Default 1 TiB, the reading limit of an
/// archive.
const MAX_BYTES: u64 = 1 << 40;

/// Writes every finished archive in `dir` as a member of one gzipped tar to `out`, streaming.
/// Members have base names and are ordered by name. Returns `out` after a flush. Without archives,
/// the tar is empty.
///
/// Archives in progress, which have hidden temporary names, are not included.
///
/// The tar ends with one block of zeros, not with two. After two, Sonobuoy stops reading, and rejects
/// the checksum of the gzip stream as "non-zero data read after tar EOF" if it arrives later. After
/// one, every reader looks for the second, and so reads to the checksum.
///
/// # Errors
/// The stream then lacks its end, and every reader reports it as truncated.
pub fn splat<W: Write>(dir: &Path, out: W) -> Result<W, FinishedError> {
    let mut gzip = ParallelGzip::new(out, LEVEL, NonZeroUsize::MIN);
    // Dropping the builder would write two blocks.
    let mut tar = ManuallyDrop::new(Builder::new(&mut gzip));
    for name in archive_names(dir)? {
        let failed = |source| FinishedError::ReadArchive(name.clone(), source);
        let file = open(&dir.join(&name)).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        send(&mut tar, &name, &file, metadata.len(), modified.map_or(0, |since| since.as_secs()))?;
    }
    gzip.write_all(&[0; TAR_BLOCK]).and_then(|()| gzip.finish()).map_err(FinishedError::WriteAll)
}

fn send(tar: &mut Builder<impl Write>, name: &str, file: &File, size: u64, mtime: u64) -> Result<(), FinishedError> {
    let failed = |source| FinishedError::ReadArchive(name.to_owned(), source);
    let mut go_on = || false;
    let mut content = ExactReader::new(file, size, &mut go_on);
    let appended = tar.append_data(&mut header(EntryType::Regular, size, 0o644, mtime), name, &mut content);
    match content.fault {
        Some(Fault::Read(source)) => return Err(failed(source)),
        Some(_) => return Err(FinishedError::Resized { name: name.to_owned(), expected: size }),
        None => appended.map_err(FinishedError::WriteAll)?,
    }
    match content.file.read(&mut [0]).map_err(failed)? {
        0 => Ok(()),
        _ => Err(FinishedError::Resized { name: name.to_owned(), expected: size }),
    }
}

/// A completely received archive. [`AtomicFile::commit`] moves it into place, and dropping it
/// removes it.
#[derive(Debug)]
pub struct Arrived {
    /// The archive, with the name of the member.
    pub archive: FinishedArchive,
    /// The temporary file.
    pub file: AtomicFile,
    /// The path to which it will be moved.
    pub target: PathBuf,
}

/// Error while receiving archives.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnsplatError {
    /// The stream is damaged or truncated, or it exceeds the limits.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A member is not an archive: its name is unsafe or hidden, or it is not a file.
    #[error("member `{0}` is not allowed: it is not a file with a plain name")]
    Refused(Printable),
    /// An archive could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Reads the archives of an untrusted stream into temporary files. Each is next to the target that
/// `place` returns for its name and number, counted from 0.
///
/// No archive is in place on return: the caller checks and then commits each of them. Data after
/// the end of the stream is ignored.
///
/// # Errors
/// No files are then left behind.
pub fn receive_archives(
    stream: impl Read,
    place: &mut dyn FnMut(&str, usize) -> PathBuf,
) -> Result<Vec<Arrived>, UnsplatError> {
    let names = NameLimits::default();
    let limits = ExtractLimits { unpacked_bytes: MAX_BYTES, entries: MAX_ARCHIVES, names, name_bytes: u64::MAX };
    let mut arrived = Vec::new();
    each_member(stream, &limits, false, |member| -> Result<_, UnsplatError> {
        let name = match (&member.name, member.kind) {
            (Ok(name), Kind::File { .. }) if is_plain(name.as_str()) => name.as_str().to_owned(),
            _ => return Err(UnsplatError::Refused(member.shown.clone())),
        };
        let target = place(&name, arrived.len());
        let failed = |source| UnsplatError::Write { path: target.clone(), source };
        let mut out = DigestWriter::new(AtomicFile::create(&target).map_err(failed)?);
        member.copy_to(|data| out.write_all(data).map_err(failed))?;
        let Digest { bytes, sha256 } = Digest::of(&out);
        let archive = FinishedArchive { name, size: bytes, sha256 };
        arrived.push(Arrived { archive, file: out.into_inner(), target });
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(arrived)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Seek;

    use flate2::write::GzEncoder;
    use tar::Header;

    use super::*;

    #[test]
    fn every_finished_archive_goes_through() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        fs::write(from.path().join("a.tar.gz"), &large).unwrap();
        fs::write(from.path().join("b.tar.gz"), b"").unwrap();
        fs::write(from.path().join(".plumbline-c.tar.gz"), b"half").unwrap();
        let mut stream = splat(from.path(), Vec::new()).unwrap();
        // Data that a connection appends is not part of the archives.
        stream.extend_from_slice(b"noise");
        let arrived = receive_archives(&stream[..], &mut |name, _| to.path().join(name)).unwrap();
        assert!(fs::read_dir(to.path()).unwrap().all(|e| e.unwrap().file_name().to_string_lossy().starts_with('.')));
        let names: Vec<_> =
            arrived.iter().map(|archive| (archive.archive.name.clone(), archive.archive.size)).collect();
        assert_eq!(names, [("a.tar.gz".to_owned(), 3_000_000), ("b.tar.gz".to_owned(), 0)]);
        for archive in arrived {
            archive.file.commit().unwrap();
        }
        assert_eq!(fs::read(to.path().join("a.tar.gz")).unwrap(), large);
    }

    /// Sonobuoy reads two blocks of zeros, or one and the end of the data. Then it expects that
    /// nothing but zeros follows.
    #[test]
    fn a_reader_that_stops_at_the_end_of_the_tar_leaves_nothing_of_the_stream() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("a.tar.gz"), [7; 10_000]).unwrap();
        let stream = splat(from.path(), Vec::new()).unwrap();
        // Each byte arrives on its own.
        let slow = io::BufReader::with_capacity(1, &stream[..]);
        let mut tar = flate2::bufread::MultiGzDecoder::new(slow);
        let member = 512 + 10_240;
        io::copy(&mut (&mut tar).take(member), &mut io::sink()).unwrap();
        let mut end = Vec::new();
        (&mut tar).take(1024).read_to_end(&mut end).unwrap();
        assert_eq!(end, [0; 512]);
        let mut rest = Vec::new();
        tar.into_inner().read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"");
    }

    #[test]
    fn without_archives_it_is_an_empty_tar() {
        let dir = tempfile::tempdir().unwrap();
        let stream = splat(dir.path(), Vec::new()).unwrap();
        assert!(receive_archives(&stream[..], &mut |_, _| unreachable!()).unwrap().is_empty());
    }

    #[test]
    fn a_stream_that_ends_early_leaves_nothing() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join("a.tar.gz"), vec![7; 100_000]).unwrap();
        let stream = splat(from.path(), Vec::new()).unwrap();
        for cut in [0, 10, 5000, stream.len() - 1] {
            let error = receive_archives(&stream[..cut], &mut |name, _| to.path().join(name)).unwrap_err();
            assert!(matches!(error, UnsplatError::Stream(_)), "{cut}: {error}");
            assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "{cut}");
        }
    }

    #[test]
    fn a_file_that_changes_its_size_is_noticed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        file.rewind().unwrap();
        let send = |size| send(&mut Builder::new(Vec::new()), "x", &file, size, 0);
        assert!(send(10).is_ok());
        for size in [8, 11] {
            (&file).rewind().unwrap();
            assert!(matches!(send(size), Err(FinishedError::Resized { expected, .. }) if expected == size));
        }
    }

    fn stream(name: &str, entry_type: EntryType) -> Vec<u8> {
        let mut tar = Builder::new(GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        let mut header = Header::new_gnu();
        // Written by hand, because the crate refuses to write invalid names.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(entry_type);
        header.set_size(0);
        header.set_cksum();
        tar.append(&header, io::empty()).unwrap();
        tar.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn members_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        for (name, kind) in [
            ("../x.tar.gz", EntryType::Regular),
            ("/x.tar.gz", EntryType::Regular),
            ("a/x.tar.gz", EntryType::Regular),
            ("a\\x.tar.gz", EntryType::Regular),
            (".x.tar.gz", EntryType::Regular),
            ("x.tar.gz", EntryType::Symlink),
            ("x.tar.gz", EntryType::Directory),
        ] {
            let error = receive_archives(&stream(name, kind)[..], &mut |name, _| dir.path().join(name)).unwrap_err();
            assert!(matches!(error, UnsplatError::Refused(_)), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
