//! One archive over connections that break.

use std::path::Path;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use plumbline_archive::finished::FinishedArchive;
use plumbline_archive::gzip::Digest;
use plumbline_core::run_status::TarInfo;

use super::error::RetrieveError;
use super::options::{Progress, Retries, Retrieved, Tell};
use super::part::{Part, digest_of};

/// The longest pause before a connection is made anew: long enough for an API server to be restarted in five of them.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// A connection that brought so many bytes was worth while: it does not count against the retries. Thus a line that drops every
/// few hundred KiB still brings any archive, and one that brings next to nothing is given up.
const WORTH_BYTES: u64 = 64 << 10;

/// The range of an archive that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first byte.
    pub(super) offset: u64,
    /// How many; at least one.
    pub(super) length: u64,
}

/// How asking for a piece ended.
pub(super) enum End {
    /// All of it is here.
    Whole,
    /// The connection was lost: why. What arrived is in the part.
    Lost(String),
}

/// Where pieces come from.
pub(super) trait Source {
    /// Asks for a piece of archive `name` and appends what arrives of it to `part`.
    async fn fetch(&self, name: &str, piece: Piece, part: &mut Part, tell: &mut Tell<'_>)
    -> Result<End, RetrieveError>;
}

/// The pauses before further attempts.
pub(super) fn pauses(retries: Retries) -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(retries.pause)
        .with_max_delay(MAX_PAUSE.max(retries.pause))
        .with_max_times(retries.times)
        .build()
}

/// Brings `archive` to `target`, verified against the list it stands in and against what the status `named`, if that is this archive.
pub(super) async fn download(
    source: &impl Source,
    archive: &FinishedArchive,
    named: &TarInfo,
    target: &Path,
    retries: Retries,
    tell: &mut Tell<'_>,
) -> Result<Retrieved, RetrieveError> {
    let FinishedArchive { name, size, sha256 } = archive;
    let as_status_says = named.name == *name && !named.sha256.is_empty();
    let done = |path| Retrieved { path, size: *size, sha256: sha256.clone(), as_status_says };
    if let Some(there) = digest_of(target, *size).await
        && difference(&there, archive, named).is_none()
    {
        tell(Progress::Present(target));
        return Ok(done(target.to_owned()));
    }
    let mut part = Part::open(target, archive).await?;
    tell(Progress::Begins { name, size: Some(*size), have: part.have() });
    pieces(source, archive, &mut part, retries, tell).await?;
    tell(Progress::Verifying);
    let closed = part.close().await?;
    match difference(&closed.digest, archive, named) {
        None => Ok(done(closed.commit().await?)),
        Some(why) => {
            let aside = closed.set_aside().await?;
            Err(RetrieveError::Wrong { name: name.clone(), why, aside: Some(aside) })
        }
    }
}

async fn pieces(
    source: &impl Source,
    archive: &FinishedArchive,
    part: &mut Part,
    retries: Retries,
    tell: &mut Tell<'_>,
) -> Result<(), RetrieveError> {
    let mut left = pauses(retries);
    let mut attempt = 0;
    while part.have() < archive.size {
        let before = part.have();
        let piece = Piece { offset: before, length: archive.size - before };
        let broken_off = |part: &Part, cause: String| RetrieveError::BrokenOff {
            name: archive.name.clone(),
            have: part.have(),
            size: archive.size,
            cause,
            part: part.path().to_owned(),
        };
        let end = match source.fetch(&archive.name, piece, part, tell).await {
            Ok(end) => end,
            // The pod went away in the middle: what is here is still worth telling.
            Err(error @ (RetrieveError::Cluster(_) | RetrieveError::Command { .. })) if part.have() > 0 => {
                return Err(broken_off(part, error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let worth = part.have() - before >= WORTH_BYTES;
        match end {
            End::Whole => {
                (left, attempt) = (pauses(retries), 0);
            }
            End::Lost(cause) => {
                if worth {
                    (left, attempt) = (pauses(retries), 0);
                }
                let Some(pause) = left.next() else { return Err(broken_off(part, cause)) };
                attempt += 1;
                tell(Progress::Again { cause: &cause, attempt });
                tokio::time::sleep(pause).await;
            }
        }
    }
    Ok(())
}

/// In what `digest` is not that of the archive; `None` where it is.
pub(super) fn difference(digest: &Digest, archive: &FinishedArchive, named: &TarInfo) -> Option<String> {
    let Digest { bytes, sha256 } = digest;
    if (*bytes, sha256) != (archive.size, &archive.sha256) {
        return Some(format!(
            "{bytes} bytes with digest {sha256} arrived, and the aggregator's list says {} bytes with digest {}",
            archive.size, archive.sha256
        ));
    }
    differs_from_status(digest, &archive.name, named)
}

/// In what the archive `name` is not the one that the status names; `None` where it is, or where the status does not name it.
pub(super) fn differs_from_status(digest: &Digest, name: &str, named: &TarInfo) -> Option<String> {
    let Digest { bytes, sha256 } = digest;
    let same_digest = named.sha256.is_empty() || named.sha256.eq_ignore_ascii_case(sha256);
    let same_size = named.size == 0 || named.size == *bytes;
    if named.name != name || (same_digest && same_size) {
        return None;
    }
    Some(format!(
        "{bytes} bytes with digest {sha256} arrived, and the run's status says {} bytes with digest {}",
        named.size, named.sha256
    ))
}

#[cfg(test)]
#[path = "download_tests.rs"]
mod tests;
