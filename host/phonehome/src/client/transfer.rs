//! The shared state of one request: how much was sent, whether there is a response, and what
//! failed.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::error::{ClientError, Stage};

/// The state of one request and its body.
pub(super) struct Transfer {
    length: u64,
    started: Instant,
    /// Milliseconds after `started` at which bytes were last sent.
    moved: AtomicU64,
    /// The number of bytes of the body that were passed to the connection.
    handed: AtomicU64,
    complete: Notify,
    answered: AtomicBool,
    finished: AtomicBool,
    failure: Mutex<Option<ClientError>>,
}

impl Transfer {
    /// Creates the state of a request with a body of `length` bytes that starts now.
    pub(super) fn new(length: u64) -> Self {
        Self {
            length,
            started: Instant::now(),
            moved: AtomicU64::new(0),
            handed: AtomicU64::new(0),
            complete: Notify::new(),
            answered: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// Returns the length of the whole body in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of bytes of the body that were passed to the connection so far.
    pub(super) fn handed(&self) -> u64 {
        self.handed.load(Ordering::Acquire)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.handed() >= self.length
    }

    /// Records that `bytes` of the body were passed to the connection.
    pub(super) fn hand_over(&self, bytes: u64) {
        self.handed.fetch_add(bytes, Ordering::AcqRel);
        if self.is_complete() {
            self.complete.notify_one();
        }
    }

    /// Records that the head of the response was received, so the rest of the body is not needed.
    pub(super) fn answered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    pub(super) fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Acquire)
    }

    /// Records that the whole response was received, so timeouts no longer apply.
    pub(super) fn finished(&self) {
        self.finished.store(true, Ordering::Release);
    }

    /// Stores why the body could not be read. The connection only learns that it failed.
    pub(super) fn fail(&self, error: ClientError) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(super) fn take_failure(&self) -> Option<ClientError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn moved_now(&self) {
        let since = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(since, Ordering::Release);
    }

    fn last_moved(&self) -> Instant {
        self.started + Duration::from_millis(self.moved.load(Ordering::Acquire))
    }

    /// Returns when no byte was sent for `idle` although some are left, or when `answer` has passed
    /// since the last byte.
    pub(super) async fn stalled(&self, idle: Duration, answer: Duration) -> (Stage, Duration) {
        loop {
            let (stage, patience) = if self.is_complete() { (Stage::Answer, answer) } else { (Stage::Sending, idle) };
            let due = self.last_moved() + patience;
            if due <= Instant::now() {
                if self.finished.load(Ordering::Acquire) {
                    std::future::pending::<()>().await;
                }
                return (stage, patience);
            }
            tokio::select! {
                () = sleep_until(due) => {}
                () = self.complete.notified() => {}
            }
        }
    }
}

/// A TCP connection that notifies a [`Transfer`] whenever bytes are sent.
pub(super) struct Watched {
    stream: TcpStream,
    transfer: Arc<Transfer>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, transfer: Arc<Transfer>) -> Self {
        Self { stream, transfer }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.transfer.moved_now();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.transfer.moved_now();
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn patience_depends_on_whose_turn_it_is() {
        let begun = Instant::now();
        let transfer = Transfer::new(10);
        assert_eq!(transfer.stalled(seconds(60), seconds(600)).await, (Stage::Sending, seconds(60)));
        assert_eq!(begun.elapsed(), seconds(60));

        // Every sent byte restarts the timeout. After the last one, the client waits for the
        // server.
        transfer.hand_over(9);
        transfer.moved_now();
        let waiting = transfer.stalled(seconds(60), seconds(600));
        let finish = async {
            tokio::time::sleep(seconds(30)).await;
            transfer.moved_now();
            transfer.hand_over(1);
        };
        let (stalled, ()) = tokio::join!(waiting, finish);
        assert_eq!(stalled, (Stage::Answer, seconds(600)));
        assert_eq!(begun.elapsed(), seconds(60 + 30 + 600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_patience_for_the_answer_is_noticed_at_once() {
        let begun = Instant::now();
        let transfer = Transfer::new(1);
        let waiting = transfer.stalled(seconds(60), seconds(5));
        let finish = async { transfer.hand_over(1) };
        let (stalled, ()) = tokio::join!(waiting, finish);
        assert_eq!((stalled, begun.elapsed()), ((Stage::Answer, seconds(5)), seconds(5)));
    }
}
