//! Retrieval from images that do not support pieces. All archives arrive as one stream, which
//! cannot be resumed.

use std::fs;

use plumbline_archive::gzip::Digest;
use plumbline_archive::splat::{Arrived, UnsplatError, receive_archives};
use plumbline_core::run_status::TarInfo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio_util::io::SyncIoBridge;

use super::download::{Attempts, CHUNK_BYTES, Remote, check_exit, differs_from_status, lost};
use super::error::RetrieveError;
use super::options::{Progress, Retrieved, Tell};
use super::part::{blocking, damaged};
use crate::exec::{ExecError, ExecStream};
use crate::names::BINARY;

/// Capacity of the buffer between both sides in bytes. It is large enough that neither waits for
/// the other all the time.
const BUFFER_BYTES: usize = 4 * CHUNK_BYTES;

/// Retrieves all archives. Returns an empty list if there are none.
pub(super) async fn retrieve_stream(
    remote: &Remote<'_>,
    named: &TarInfo,
    tell: &mut Tell<'_>,
) -> Result<Vec<Retrieved>, RetrieveError> {
    tell(Progress::OneStream);
    let mut attempts = Attempts::new(remote.options.retries);
    let arrived = loop {
        tell(Progress::Begins { name: "archives", size: (named.size > 0).then_some(named.size), have: 0 });
        match stream(remote, tell).await? {
            Ok(arrived) => break arrived,
            Err(cause) if attempts.again(&cause, tell).await => {}
            Err(cause) => return Err(RetrieveError::Stream(format!("{cause}, {} times", attempts.failed + 1))),
        }
    };
    tell(Progress::Verifying);
    let named = named.clone();
    blocking(move || arrived.into_iter().map(|archive| take(archive, &named)).collect()).await
}

/// Receives all archives once. If the connection is lost, the inner error says why.
async fn stream(remote: &Remote<'_>, tell: &mut Tell<'_>) -> Result<Result<Vec<Arrived>, String>, RetrieveError> {
    let Remote { cluster, target, options } = *remote;
    let command = vec![BINARY.to_owned(), "splat".to_owned(), options.remote_dir.clone()];
    let mut stream = match ExecStream::start(cluster, target, &command, options.patience).await {
        Ok(stream) => stream,
        Err(error) => return lost(error).map(Err),
    };
    let (sender, output) = bridge();
    let own = options.clone();
    let reader =
        tokio::task::spawn_blocking(move || receive_archives(output, &mut |member, at| own.target(member, at)));
    let pumped = pump(&mut stream, sender, tell).await;
    let read = reader.await.map_err(|error| RetrieveError::Stream(error.to_string()))?;
    if let Err(error) = pumped {
        return lost(error).map(Err);
    }
    // The exit code takes precedence: an unterminated stream is only its consequence.
    match read {
        Err(UnsplatError::Write { path, source }) => Err(RetrieveError::Local { what: "write", path, source }),
        Err(error @ UnsplatError::Refused(_)) => Err(RetrieveError::Stream(error.to_string())),
        read => match (stream.finish().await, read) {
            (Ok(exit), read) => {
                check_exit(&command, exit)?;
                // If the command succeeded, the connection is to blame for an incomplete stream.
                Ok(read.map_err(|error| error.to_string()))
            }
            (Err(error), Ok(_)) => lost(error).map(Err),
            (Err(error), Err(incomplete)) => lost(error).map(|_| Err(incomplete.to_string())),
        },
    }
}

/// Moves an archive to its final name, if it matches the status.
fn take(arrived: Arrived, named: &TarInfo) -> Result<Retrieved, RetrieveError> {
    let Arrived { archive, file, target } = arrived;
    let digest = Digest { bytes: archive.size, sha256: archive.sha256.clone() };
    if let Some(why) = differs_from_status(&digest, &archive.name, named) {
        let aside = damaged(&target);
        let kept = fs::rename(file.temporary_path(), &aside);
        return Err(RetrieveError::Wrong { name: archive.name, why, aside: kept.is_ok().then_some(aside) });
    }
    file.commit().map_err(RetrieveError::local("write", &target))?;
    let as_status_says = named.name == archive.name && !named.sha256.is_empty();
    Ok(Retrieved { path: target, size: archive.size, sha256: archive.sha256, as_status_says })
}

/// Connects the asynchronous output of a command to blocking reads, which need a thread of their
/// own.
pub(super) fn bridge() -> (DuplexStream, SyncIoBridge<DuplexStream>) {
    let (to, from) = tokio::io::duplex(BUFFER_BYTES);
    (to, SyncIoBridge::new(from))
}

/// Forwards the output of a command until it ends or the reader is dropped. If the connection is
/// lost, the reader only sees that the output ends.
pub(super) async fn pump(stream: &mut ExecStream, mut to: DuplexStream, tell: &mut Tell<'_>) -> Result<(), ExecError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut passed = 0_u64;
    loop {
        let read = stream.read(&mut chunk).await.map_err(|error| stream.lost(&error))?;
        let piece = chunk.get(..read).unwrap_or_default();
        if piece.is_empty() || to.write_all(piece).await.is_err() {
            return Ok(());
        }
        passed = passed.saturating_add(read as u64);
        tell(Progress::Bytes(passed));
    }
}
