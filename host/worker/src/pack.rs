//! Packing a directory that is to be sent (docs/protocol.md, «Done file»).

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use plumbline_archive::pack::{PackOptions, Packing, pack_directory};
use plumbline_core::ReceiveLimits;
use plumbline_core::limits::ARCHIVE_ENTRIES;
use tokio_util::sync::CancellationToken;

use crate::done::DONE_FILE;

/// The name that a packed directory has, inside that directory and on its way.
pub const PACKED_NAME: &str = "results.tar.gz";

/// How many left-out files are named in the log: enough to see the pattern.
const SHOWN_LEFT_OUT: usize = 10;

/// Why a directory cannot be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// Something in it cannot be read, or the archive becomes too large or does not fit on the volume.
    #[error("cannot pack the directory `{}`", dir.display())]
    Pack {
        /// The directory.
        dir: PathBuf,
        /// Why.
        source: plumbline_archive::pack::PackError,
    },
    /// The archive cannot be put into its place.
    #[error("cannot write the archive `{}`", path.display())]
    Write {
        /// The archive.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Packs `dir` into [`PACKED_NAME`] inside it, at most `limit` bytes, and gives its path. Blocks until it is done or `cancelled`.
///
/// The archive of an earlier attempt is replaced and not packed, like any other file of that name there. The done file, which is in
/// `results_dir`, is not packed either: it is no result.
pub(crate) fn pack(
    dir: &Path,
    results_dir: &Path,
    limit: u64,
    cancelled: &CancellationToken,
) -> Result<PathBuf, PackError> {
    let path = dir.join(PACKED_NAME);
    let cannot_write = |source| PackError::Write { path: path.clone(), source };
    // Under another name until it is whole: a worker that is started again must not take half an archive for the plugin's own file.
    let file = AtomicFile::create(&path).map_err(cannot_write)?;
    // One thread: a worker shares its node with what is being tested.
    let options = PackOptions {
        threads: NonZeroUsize::MIN,
        max_bytes: Some(limit),
        exclude: vec![path.clone(), results_dir.join(DONE_FILE)],
        // The number of entries is the operator's limit, which the aggregator knows.
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
