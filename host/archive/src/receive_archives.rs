//! Receives archives from an untrusted stream of [`crate::splat`].

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::atomic::AtomicFile;
use crate::finished::FinishedArchive;
use crate::gzip::Sha256Writer;
use crate::member::{Kind, NameLimits, StreamError, StreamLimits, each_member};

/// The maximum number of archives in one stream. Default 100: each is an open file until the end of
/// the stream.
const MAX_ARCHIVES: u64 = 100;

/// The maximum size of all archives of one stream in bytes. Default 1 TiB, the reading limit of an
/// archive.
const MAX_BYTES: u64 = 1 << 40;

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
    #[error("member `{0}` is refused: it is not a file with a plain name")]
    Refused(String),
    /// An archive could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Reads the archives of a stream into temporary files. Each is next to the target that `place`
/// returns for its name and number, counted from 0.
///
/// No archive is in place on return: the caller checks and then commits each of them. Data after
/// the end of the stream is ignored.
///
/// The function blocks.
///
/// # Errors
///
/// Returns an [`UnsplatError`]. No files are then left behind.
pub fn receive_archives(
    stream: impl Read,
    place: &mut dyn FnMut(&str, usize) -> PathBuf,
) -> Result<Vec<Arrived>, UnsplatError> {
    let limits = StreamLimits {
        unpacked_bytes: MAX_BYTES,
        entries: MAX_ARCHIVES,
        names: NameLimits::default(),
        plain_tar: false,
    };
    let mut arrived = Vec::new();
    each_member(stream, &limits, |member| -> Result<_, UnsplatError> {
        let name = match (&member.name, member.kind) {
            (Ok(name), Kind::File { .. }) if is_plain(name.as_str()) => name.as_str().to_owned(),
            _ => return Err(UnsplatError::Refused(member.shown.clone())),
        };
        let target = place(&name, arrived.len());
        let failed = |source| UnsplatError::Write { path: target.clone(), source };
        let mut out = Sha256Writer::new(AtomicFile::create(&target).map_err(failed)?);
        member.copy_to(|data| out.write_all(data).map_err(failed))?;
        let (file, digest) = out.finish();
        let archive = FinishedArchive { name, size: digest.bytes, sha256: digest.sha256 };
        arrived.push(Arrived { archive, file, target });
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(arrived)
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.chars().any(|c| matches!(c, '/' | '\\') || c.is_control())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    use super::*;

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
