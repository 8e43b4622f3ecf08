//! Sends all finished archives of a directory as one stream, the form in which clients retrieve
//! them from an aggregator (docs/protocol.md, "Retrieval").

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::UNIX_EPOCH;

use tar::{Builder, Header};

use crate::finished::{FinishedError, archive_names, open};
use crate::gzip::ParallelGzip;

/// The level of the outer gzip. The content is already compressed, so a higher level would only
/// take time.
const LEVEL: u32 = 0;

/// Error while sending archives.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplatError {
    /// The directory could not be read.
    #[error(transparent)]
    List(#[from] FinishedError),
    /// An archive could not be read.
    #[error("failed to read archive `{name}`: {source}")]
    Read {
        /// The name of the archive.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// An archive changed its size while it was sent, so it is still being written. What was sent
    /// is an incomplete stream.
    #[error("archive `{name}` is still being written: it had {expected} bytes when it was opened, and has others now")]
    Changing {
        /// The name of the archive.
        name: String,
        /// The size when it was opened.
        expected: u64,
    },
    /// The stream could not be written.
    #[error("failed to pass on the archives: {0}")]
    Write(#[source] io::Error),
}

/// Writes every finished archive in `dir` as a member of one gzipped tar to `out`, streaming.
/// Members have base names and are ordered by name. Returns `out` after a flush. Without archives,
/// the tar is empty.
///
/// Archives in progress, which have hidden temporary names, are not included.
///
/// # Errors
///
/// Returns a [`SplatError`]. The stream then lacks its end, and every reader reports it as
/// truncated.
pub fn splat<W: Write>(dir: &Path, out: W) -> Result<W, SplatError> {
    let mut tar = Builder::new(ParallelGzip::new(out, LEVEL, NonZeroUsize::MIN));
    for name in archive_names(dir)? {
        let failed = |source| SplatError::Read { name: name.clone(), source };
        let file = open(&dir.join(&name)).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let size = metadata.len();
        let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let mut header = Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o644);
        header.set_mtime(modified.map_or(0, |since| since.as_secs()));
        header.set_uid(0);
        header.set_gid(0);
        let mut content = Steady { file, left: size, fault: None };
        let appended = tar.append_data(&mut header, &name, &mut content);
        match content.fault.take() {
            Some(Fault::Shorter) => return Err(SplatError::Changing { name, expected: size }),
            Some(Fault::Read(source)) => return Err(SplatError::Read { name, source }),
            None => appended.map_err(SplatError::Write)?,
        }
        if content.grew().map_err(failed)? {
            return Err(SplatError::Changing { name, expected: size });
        }
    }
    tar.into_inner().and_then(ParallelGzip::finish).map_err(SplatError::Write)
}

enum Fault {
    Shorter,
    Read(io::Error),
}

/// A reader that returns exactly as many bytes as the file had when it was opened, or an error.
struct Steady {
    file: File,
    left: u64,
    fault: Option<Fault>,
}

impl Steady {
    /// Returns whether the file has grown.
    fn grew(&mut self) -> io::Result<bool> {
        Ok(self.file.read(&mut [0])? > 0)
    }
}

impl Read for Steady {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let Some(out) = out.get_mut(..most).filter(|out| !out.is_empty()) else { return Ok(0) };
        match self.file.read(out) {
            Ok(0) => {
                self.fault = Some(Fault::Shorter);
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(read) => {
                self.left = self.left.saturating_sub(read as u64);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.fault = Some(Fault::Read(error));
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Seek;

    use super::*;
    use crate::receive_archives::{UnsplatError, receive_archives};

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
        let mut longer = Steady { file: file.try_clone().unwrap(), left: 8, fault: None };
        assert_eq!(io::copy(&mut longer, &mut io::sink()).unwrap(), 8);
        assert!(longer.grew().unwrap());
        file.rewind().unwrap();
        let mut shorter = Steady { file, left: 11, fault: None };
        io::copy(&mut shorter, &mut io::sink()).unwrap_err();
        assert!(matches!(shorter.fault, Some(Fault::Shorter)));
    }
}
