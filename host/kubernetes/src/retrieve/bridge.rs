//! Connects the asynchronous output of a command to blocking reads.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;

use super::options::{Progress, Tell};
use crate::exec::{ExecError, ExecStream};

/// Capacity of the queue between both sides. It is large enough that neither waits for the other
/// all the time.
const PIECES: usize = 4;

/// Size of a chunk in bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// The reading side. It blocks, so it needs a thread of its own.
pub(super) struct Output {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

/// Returns both sides.
pub(super) fn bridge() -> (mpsc::Sender<io::Result<Bytes>>, Output) {
    let (sender, pieces) = mpsc::channel(PIECES);
    (sender, Output { pieces, current: Bytes::new() })
}

impl Read for Output {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.current = piece?,
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
/// Returns an error if the connection is lost. The reader gets an error too.
pub(super) async fn pump(
    stream: &mut ExecStream,
    to: mpsc::Sender<io::Result<Bytes>>,
    tell: &mut Tell<'_>,
) -> Result<(), ExecError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut passed = 0_u64;
    loop {
        match stream.read(&mut chunk).await {
            Ok(0) => return Ok(()),
            Ok(read) => {
                let piece = Bytes::copy_from_slice(chunk.get(..read).unwrap_or_default());
                if to.send(Ok(piece)).await.is_err() {
                    return Ok(());
                }
                passed = passed.saturating_add(read as u64);
                tell(Progress::Bytes(passed));
            }
            Err(error) => {
                let lost = stream.lost(&error);
                // The reader may be gone.
                let _ = to.send(Err(error)).await;
                return Err(lost);
            }
        }
    }
}
