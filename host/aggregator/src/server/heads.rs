//! Memory for the heads of requests while they arrive.
//!
//! A connection keeps what it has read until a request is complete. A short head is free. A longer one
//! takes memory that all connections share, and each plugin always has an equal part of it. Without
//! memory, the connection is closed, and the worker tries again.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::http::Request;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use plumbline_core::limits::HEAD_BYTES;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::shares::Share;

/// Memory for long heads, as much as for bodies.
pub(super) const HEAD_MEMORY: usize = 16 << 20;
/// Maximum size of a head that takes no shared memory, in bytes. With names of usual lengths, the head
/// of a worker is shorter.
const FREE: usize = 1 << 10;

/// What a connection has read of requests that are not complete.
#[derive(Clone)]
pub(super) struct Head(Arc<Mutex<Unread>>);

struct Unread {
    bytes: usize,
    /// Whether the head of a request is complete, and the request is not answered yet. Further bytes are
    /// then those of its body.
    has_request: bool,
    /// The plugin's share in the memory.
    memory: Share,
    has_memory: bool,
}

impl Head {
    pub(super) fn new(memory: Share) -> Self {
        Self(Arc::new(Mutex::new(Unread { bytes: 0, has_request: false, memory, has_memory: false })))
    }

    /// Counts bytes that were read. With 0, only checks what was read earlier.
    fn read(&self, bytes: usize) -> io::Result<()> {
        let mut unread = self.0.lock();
        unread.bytes = unread.bytes.saturating_add(bytes);
        if unread.has_request || unread.has_memory || unread.bytes <= FREE {
            return Ok(());
        }
        unread.has_memory = unread.memory.grow(HEAD_BYTES);
        if unread.has_memory { Ok(()) } else { Err(io::Error::other("no memory for the head of another request")) }
    }

    /// Notes that the head of `request` is complete, and returns the request with a body that is counted.
    pub(super) fn complete(&self, request: Request<Incoming>) -> Request<CountedBody> {
        let mut unread = self.0.lock();
        unread.bytes = unread.bytes.saturating_sub(size(&request));
        unread.has_request = true;
        if std::mem::take(&mut unread.has_memory) {
            unread.memory.clear();
        }
        drop(unread);
        request.map(|body| CountedBody { body, head: self.clone() })
    }

    /// Notes that the request is answered, so that further bytes are those of a head. A client may have
    /// sent some of them with the request.
    pub(super) fn answered(&self) {
        self.0.lock().has_request = false;
    }

    fn consumed(&self, bytes: usize) {
        let mut unread = self.0.lock();
        unread.bytes = unread.bytes.saturating_sub(bytes);
    }
}

/// Returns the size of a head in the usual spelling, which differs from any other one by a few bytes.
fn size<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + " HTTP/1.1\r\n\r\n".len() + 1;
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + headers.sum::<usize>()
}

/// A body whose bytes are counted when they are passed on.
pub(super) struct CountedBody {
    body: Incoming,
    head: Head,
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.head.consumed(data.len());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose bytes are counted when they are read.
pub(super) struct CountedStream<S> {
    stream: S,
    head: Head,
}

impl<S> CountedStream<S> {
    pub(super) fn new(stream: S, head: Head) -> Self {
        Self { stream, head }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.head.read(0)?;
        let before = out.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, out);
        self.head.read(out.filled().len().saturating_sub(before))?;
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use plumbline_archive::disk::Disk;
    use plumbline_core::ledger::Ledger;

    use super::*;
    use crate::journal::Journal;
    use crate::server::shares::Shares;
    use crate::state::State;

    /// Returns the memory for this number of long heads.
    fn memory(heads: usize) -> Arc<Shares> {
        let dir = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open_on(&Disk::default(), &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(Ledger::replay([]).unwrap(), journal);
        Shares::new(state, heads * HEAD_BYTES)
    }

    #[test]
    fn long_heads_of_all_connections_share_their_memory() {
        let memory = memory(2);
        let open = || Head::new(memory.of("p"));
        let heads = [open(), open(), open()];
        // Short heads are free, and so are the bytes of a body.
        heads.iter().for_each(|head| head.read(FREE).unwrap());
        heads[0].read(1).unwrap();
        heads[1].read(1).unwrap();
        heads[1].read(HEAD_BYTES - FREE - 1).unwrap();
        assert!(heads[2].read(1).is_err());
        // A connection that ends gives its memory back.
        let [first, _second, third] = heads;
        drop(first);
        third.read(0).unwrap();
    }

    #[test]
    fn the_size_of_a_head_is_that_of_its_usual_spelling() {
        let text = "PUT /api/v1/results/global/q?x=1 HTTP/1.1\r\nhost: aggregator\r\ncontent-length: 5\r\n\r\n";
        let request = Request::put("/api/v1/results/global/q?x=1")
            .header("host", "aggregator")
            .header("content-length", "5")
            .body(())
            .unwrap();
        assert_eq!(size(&request), text.len());
    }
}
