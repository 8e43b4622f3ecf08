//! Retrieval from images that do not support pieces. All archives arrive as one stream, which
//! cannot be resumed.

use std::fs;
use std::io::{self, Read};

use bytes::{Buf, Bytes};
use plumbline_archive::gzip::Digest;
use plumbline_archive::splat::{Arrived, UnsplatError, receive_archives};
use plumbline_core::run_status::TarInfo;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::download::{Attempts, check_exit, differs_from_status, lost};
use super::error::RetrieveError;
use super::options::{Progress, RetrieveOptions, Retrieved, Tell};
use super::part::{blocking, damaged};
use crate::cluster::Cluster;
use crate::exec::{ExecError, ExecStream, ExecTarget};
use crate::names::BINARY;

/// Capacity of the queue between both sides. It is large enough that neither waits for the other
/// all the time.
const PIECES: usize = 4;

/// Size of a chunk in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Retrieves all archives. Returns an empty list if there are none.
pub(super) async fn retrieve_stream(
    cluster: &Cluster,
    target: &ExecTarget,
    named: &TarInfo,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Vec<Retrieved>, RetrieveError> {
    tell(Progress::OneStream);
    let mut attempts = Attempts::new(options.retries);
    let arrived = loop {
        tell(Progress::Begins { name: "archives", size: (named.size > 0).then_some(named.size), have: 0 });
        match stream(cluster, target, options, tell).await? {
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
async fn stream(
    cluster: &Cluster,
    target: &ExecTarget,
    options: &RetrieveOptions,
    tell: &mut Tell<'_>,
) -> Result<Result<Vec<Arrived>, String>, RetrieveError> {
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

/// The reading side of a command's output. It blocks, so it needs a thread of its own.
pub(super) struct Output {
    pieces: mpsc::Receiver<Bytes>,
    current: Bytes,
}

/// Connects the asynchronous output of a command to blocking reads, and returns both sides.
pub(super) fn bridge() -> (mpsc::Sender<Bytes>, Output) {
    let (sender, pieces) = mpsc::channel(PIECES);
    (sender, Output { pieces, current: Bytes::new() })
}

impl Read for Output {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let taken = self.current.len().min(out.len());
        self.current.copy_to_slice(out.get_mut(..taken).unwrap_or_default());
        Ok(taken)
    }
}

/// Forwards the output of a command until it ends or the reader is dropped.
///
/// # Errors
/// Returns an error if the connection is lost. The reader only sees that the output ends.
pub(super) async fn pump(
    stream: &mut ExecStream,
    to: mpsc::Sender<Bytes>,
    tell: &mut Tell<'_>,
) -> Result<(), ExecError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut passed = 0_u64;
    loop {
        let read = stream.read(&mut chunk).await.map_err(|error| stream.lost(&error))?;
        let piece = Bytes::copy_from_slice(chunk.get(..read).unwrap_or_default());
        if piece.is_empty() || to.send(piece).await.is_err() {
            return Ok(());
        }
        passed = passed.saturating_add(read as u64);
        tell(Progress::Bytes(passed));
    }
}
