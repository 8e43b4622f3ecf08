//! Turns the path in a done file into an upload.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use plumbline_phonehome::{Source, Upload};
use rustix::fs::OFlags;
use tokio_util::sync::CancellationToken;

use crate::content_type::content_type;
use crate::done::{DoneError, Kind, LocateError, kind_of, locate};
use crate::pack::{PackError, pack};

/// Error while gathering the result of a finished plugin.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The done file is unusable.
    #[error(transparent)]
    Done(DoneError),
    /// The path in it is unusable.
    #[error(transparent)]
    Locate(LocateError),
    /// The directory could not be packed.
    #[error(transparent)]
    Pack(PackError),
}

/// A result that is ready to upload.
pub(crate) struct Gathered {
    /// The path, for messages.
    pub(crate) path: PathBuf,
    /// The upload.
    pub(crate) upload: Upload,
    /// Keeps the file open to which `upload` refers.
    _pin: File,
}

/// Resolves `named`, and packs it if it is a directory, into at most `limit` bytes. Dropping the
/// future stops the packing.
pub(crate) async fn gather(results_dir: &Path, named: &str, limit: u64) -> Result<Gathered, GatherError> {
    let (results_dir, named) = (results_dir.to_owned(), named.to_owned());
    let cancelled = CancellationToken::new();
    let _cancel = cancelled.clone().drop_guard();
    let in_words = named.clone();
    tokio::task::spawn_blocking(move || gather_now(&results_dir, &named, limit, &cancelled)).await.unwrap_or_else(
        |failed| Err(GatherError::Locate(LocateError::Io { named: in_words, source: io::Error::other(failed) })),
    )
}

fn gather_now(
    results_dir: &Path,
    named: &str,
    limit: u64,
    cancelled: &CancellationToken,
) -> Result<Gathered, GatherError> {
    let located = locate(results_dir, named).map_err(GatherError::Locate)?;
    let path = match located.kind {
        Kind::File => located.path,
        Kind::Directory => pack(&located.path, results_dir, limit, cancelled).map_err(GatherError::Pack)?,
    };
    let (pin, source) = pin(results_dir, named, &path).map_err(GatherError::Locate)?;
    let filename = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let upload = Upload::result(Source::File(source), content_type(&path), filename);
    Ok(Gathered { path, upload, _pin: pin })
}

/// Opens the file, and returns a path to the open file, independent of its name.
///
/// Otherwise, between check and upload, the plugin could replace the file with a link that leads
/// out of the results directory.
fn pin(results_dir: &Path, named: &str, path: &Path) -> Result<(File, PathBuf), LocateError> {
    let io_error = |source| LocateError::Io { named: named.to_owned(), source };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(io_error)?;
    let file_type = file.metadata().map_err(io_error)?.file_type();
    if !file_type.is_file() {
        return Err(LocateError::NotSendable { named: named.to_owned(), kind: kind_of(file_type) });
    }
    let pinned = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    match pinned.read_link() {
        Ok(real) if real.starts_with(results_dir.canonicalize().map_err(io_error)?) => Ok((file, pinned)),
        Ok(_) => Err(LocateError::Outside { named: named.to_owned(), results_dir: results_dir.to_owned() }),
        // Without /proc, the checked path is used.
        Err(_) => Ok((file, path.to_owned())),
    }
}
