//! The other end of [`crate::splat`]: archives out of a stream that nobody vouches for.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::atomic::AtomicFile;
use crate::finished::FinishedArchive;
use crate::gzip::Sha256Writer;
use crate::member::{Kind, NameLimits, StreamError, StreamLimits, each_member};

/// Archives in one stream. Default 100: each is an open file until the stream has ended well.
const MAX_ARCHIVES: u64 = 100;

/// Bytes of all archives of one stream. Default 1 TiB, the most that is read of an archive.
const MAX_BYTES: u64 = 1 << 40;

/// An archive that has arrived whole. It takes its place with [`AtomicFile::commit`]; dropped, it is gone.
#[derive(Debug)]
pub struct Arrived {
    /// What arrived: the name is that of the member.
    pub archive: FinishedArchive,
    /// Where it is.
    pub file: AtomicFile,
    /// Where it goes.
    pub target: PathBuf,
}

/// Why the archives of a stream were not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnsplatError {
    /// The stream is damaged, ends early, or is larger than the limits.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A member that is no archive: its name leads elsewhere or is hidden, or it is no file.
    #[error("member `{0}` is refused: it is not a file with a plain name")]
    Refused(String),
    /// An archive could not be written.
    #[error("failed to write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads the archives of a stream, each into a temporary file beside what `place` (by name and number, from 0) says. None is in its
/// place yet when this returns: the caller checks what arrived and then commits it. Bytes after the end of the stream are ignored.
///
/// Blocks.
///
/// # Errors
/// [`UnsplatError`]. Nothing is left behind then.
pub fn unsplat(stream: impl Read, place: &mut dyn FnMut(&str, usize) -> PathBuf) -> Result<Vec<Arrived>, UnsplatError> {
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
        // By hand: the crate refuses to write what is to be refused here.
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
            let error = unsplat(&stream(name, kind)[..], &mut |name, _| dir.path().join(name)).unwrap_err();
            assert!(matches!(error, UnsplatError::Refused(_)), "{name}: {error}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
