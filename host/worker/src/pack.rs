//! Packs a directory for the upload (docs/protocol.md, "Done file").

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::pack::{PackOptions, Packing, pack_directory};
use plumbline_core::ReceiveLimits;
use plumbline_core::limits::ARCHIVE_ENTRIES;
use tokio_util::sync::CancellationToken;

use crate::done::DONE_FILE;

/// The name of a packed directory, both inside that directory and in the upload.
pub const PACKED_NAME: &str = "results.tar.gz";

/// Maximum number of left-out files to log, which is enough to recognize a pattern.
const SHOWN_LEFT_OUT: usize = 10;

/// Error while packing a directory.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file could not be read, or the archive is too large or does not fit on the volume.
    #[error("failed to pack the directory `{}`", dir.display())]
    Pack {
        /// The directory.
        dir: PathBuf,
        /// The underlying error.
        source: plumbline_archive::pack::PackError,
    },
    /// The archive could not be written.
    #[error("failed to write the archive `{}`", path.display())]
    Write {
        /// The archive.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// Packs `dir` into [`PACKED_NAME`] inside it, with at most `limit` bytes, and returns the path.
/// Blocks until it is done or `cancelled`.
///
/// The archive of an earlier attempt is replaced and not packed, like any other file of that name
/// there. The done file in `results_dir` is not packed either, because it is not a result.
pub(crate) fn pack(
    dir: &Path,
    results_dir: &Path,
    limit: u64,
    cancelled: &CancellationToken,
) -> Result<PathBuf, PackError> {
    let path = dir.join(PACKED_NAME);
    let cannot_write = |source| PackError::Write { path: path.clone(), source };
    // The archive has a temporary name until it is complete. A restarted worker must not mistake
    // half an archive for the plugin's own file.
    let file = AtomicFile::create(&path).map_err(cannot_write)?;
    // One thread is enough, because the worker shares its node with the system under test.
    let options = PackOptions {
        threads: NonZeroUsize::MIN,
        max_bytes: Some(limit),
        exclude: vec![path.clone(), results_dir.join(DONE_FILE)],
        // The operator limits the number of entries, and only the aggregator knows that limit.
        entries: ARCHIVE_ENTRIES,
        ..PackOptions::for_upload(&ReceiveLimits::default())
    };
    let (file, packing) = pack_directory(dir, file, &options, &mut || cancelled.is_cancelled())
        .map_err(|source| PackError::Pack { dir: dir.to_owned(), source })?;
    file.commit().map_err(cannot_write)?;
    tell(dir, &packing);
    Ok(path)
}

fn tell(dir: &Path, packing: &Packing) {
    let (entries, bytes) = (packing.entries, packing.digest.bytes);
    tracing::info!(dir = %dir.display(), entries, bytes, "packed the directory");
    if packing.skipped_total > 0 {
        let shown: Vec<_> = packing.skipped.iter().take(SHOWN_LEFT_OUT).map(ToString::to_string).collect();
        let rest = if packing.skipped_total > SHOWN_LEFT_OUT as u64 { ", and more" } else { "" };
        tracing::warn!("left {} out of the archive: {}{rest}", packing.skipped_total, shown.join(", "));
    }
}
