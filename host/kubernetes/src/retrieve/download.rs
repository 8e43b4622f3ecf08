//! Downloads one archive over connections that may drop.

use std::path::Path;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use plumbline_archive::finished::FinishedArchive;
use plumbline_archive::gzip::Digest;
use plumbline_core::run_status::TarInfo;

use super::error::RetrieveError;
use super::options::{Progress, Retries, Retrieved, Tell};
use super::part::{Part, digest_of};

/// Maximum delay before a reconnect. Five attempts are enough for a restart of the API server.
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// Number of bytes after which a connection counts as successful, and not against the retries.
///
/// Thus a connection that drops every few hundred KiB still downloads any archive. One that
/// transfers almost nothing leads to an error.
const WORTH_BYTES: u64 = 64 << 10;

/// The missing range of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Offset of the first byte.
    pub(super) offset: u64,
    /// Number of bytes, at least one.
    pub(super) length: u64,
}

/// The outcome of a request for a piece.
pub(super) enum End {
    /// The whole piece arrived.
    Whole,
    /// The connection was lost, for this reason. The received bytes are in the part.
    Lost(String),
}

/// The source of pieces.
pub(super) trait Source {
    /// Requests a piece of archive `name`, and appends the received bytes to `part`.
    async fn fetch(&self, name: &str, piece: Piece, part: &mut Part, tell: &mut Tell<'_>)
    -> Result<End, RetrieveError>;
}

/// Returns the delays before further attempts.
pub(super) fn pauses(retries: Retries) -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(retries.pause)
        .with_max_delay(MAX_PAUSE.max(retries.pause))
        .with_max_times(retries.times)
        .build()
}

/// Downloads `archive` to `target`, and verifies it against the aggregator's list, and against the
/// status `named` if that is this archive.
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
            // The pod disappeared during the download. The error still reports the bytes received
            // so far.
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

/// Returns how `digest` differs from the archive's, or `None` if it matches.
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

/// Returns how the archive `name` differs from the one in the status. Returns `None` if it matches,
/// or if the status does not name it.
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
