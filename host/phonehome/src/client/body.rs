//! The body of a request, which is read in pieces and held back until the server asks for it.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use tokio::fs::File;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use tokio_util::io::{InspectWriter, poll_read_buf};
use tokio_util::sync::CancellationToken;

use super::config::Source;
use super::error::{ClientError, Stage};

/// How much of a file is in memory at a time, in bytes. A worker should stay below 10 MiB.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// The signal that the server wants the body.
pub(super) type GoAhead = CancellationToken;

/// A body of known length.
pub(super) struct RequestBody {
    gate: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    content: Content,
    left: u64,
    transfer: Arc<Transfer>,
}

enum Content {
    Memory(Bytes),
    File(Box<FileContent>),
}

/// The error of an interrupted body. [`Transfer`] keeps the reason.
#[derive(Debug, thiserror::Error)]
#[error("the body could not be read")]
pub(super) struct BrokenBody;

impl RequestBody {
    /// Opens `source`. Every attempt opens it again.
    pub(super) async fn open(source: &Source) -> Result<(Self, Arc<Transfer>), ClientError> {
        let (content, left) = match source {
            Source::Bytes(bytes) => (Content::Memory(bytes.clone()), u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Source::File(path) => {
                let (file, length) = FileContent::open(path)
                    .await
                    .map_err(|source| ClientError::Source { path: path.clone(), source })?;
                (Content::File(Box::new(file)), length)
            }
        };
        let transfer = Arc::new(Transfer::new(left));
        Ok((Self { gate: None, content, left, transfer: Arc::clone(&transfer) }, transfer))
    }

    /// Holds the body back until `go_ahead`, or until `patience` has passed since it was asked for.
    pub(super) fn hold_back(mut self, go_ahead: GoAhead, patience: Duration) -> Self {
        self.gate = Some(Box::pin(async move {
            tokio::select! {
                () = go_ahead.cancelled() => {}
                () = tokio::time::sleep(patience) => {
                    tracing::debug!("no `100 Continue` after {patience:?}: sending the body");
                }
            }
        }));
        self
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BrokenBody;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BrokenBody>>> {
        if self.transfer.is_answered() {
            // The response came first. Its receiver drops the connection, and this body with it.
            return Poll::Pending;
        }
        if let Some(gate) = &mut self.gate {
            ready!(gate.as_mut().poll(cx));
            self.gate = None;
        }
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let left = self.left;
        let piece = match &mut self.content {
            Content::Memory(bytes) => Ok(bytes.split_to(bytes.len().min(PIECE_BYTES))),
            Content::File(file) => ready!(file.poll_piece(cx, left)),
        };
        Poll::Ready(Some(match piece {
            Ok(piece) => {
                let bytes = u64::try_from(piece.len()).unwrap_or(u64::MAX);
                self.left = self.left.saturating_sub(bytes);
                self.transfer.hand_over(bytes);
                Ok(Frame::data(piece))
            }
            Err(error) => {
                self.transfer.fail(error);
                Err(BrokenBody)
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A file whose size must stay the same after opening.
struct FileContent {
    file: File,
    path: Box<Path>,
    length: u64,
    piece: BytesMut,
    /// The last piece, held back until the end of the file is reached.
    last: Option<Bytes>,
}

impl FileContent {
    async fn open(path: &Path) -> io::Result<(Self, u64)> {
        // Opening a named pipe would block until someone writes to it.
        if !tokio::fs::metadata(path).await?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = File::open(path).await?;
        let length = file.metadata().await?.len();
        Ok((Self { file, path: path.into(), length, piece: BytesMut::new(), last: None }, length))
    }

    /// Returns the next piece of the `left` remaining bytes.
    fn poll_piece(&mut self, cx: &mut Context<'_>, left: u64) -> Poll<Result<Bytes, ClientError>> {
        if self.last.is_none() {
            self.piece.reserve(PIECE_BYTES);
            let read = ready!(self.poll_read(cx))?;
            let bytes = u64::try_from(read).unwrap_or(u64::MAX);
            if read == 0 || bytes > left {
                return Poll::Ready(Err(self.changed()));
            }
            let piece = self.piece.split().freeze();
            if bytes < left {
                return Poll::Ready(Ok(piece));
            }
            self.last = Some(piece);
        }
        // For the server, the result is complete after the last piece, so the file must have ended.
        self.piece.reserve(1);
        match ready!(self.poll_read(cx))? {
            0 => Poll::Ready(self.last.take().ok_or_else(|| self.changed())),
            _ => Poll::Ready(Err(self.changed())),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ClientError>> {
        poll_read_buf(Pin::new(&mut self.file), cx, &mut self.piece)
            .map_err(|source| ClientError::Source { path: self.path.to_path_buf(), source })
    }

    fn changed(&self) -> ClientError {
        ClientError::SourceChanged { path: self.path.to_path_buf(), length: self.length }
    }
}

/// The state of one request and its body.
pub(super) struct Transfer {
    /// The length of the whole body in bytes.
    pub(super) length: u64,
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

    /// Returns when no byte was sent for `idle`, or after `answer` since the last one.
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
pub(super) type Watched = InspectWriter<TcpStream, Box<dyn FnMut(&[u8]) + Send>>;

pub(super) fn watched(stream: TcpStream, transfer: Arc<Transfer>) -> Watched {
    InspectWriter::new(stream, Box::new(move |_: &[u8]| transfer.moved_now()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt as _;
    use std::fs;
    use std::io::Write as _;
    use std::path::PathBuf;

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("result");
        fs::write(&path, content).unwrap();
        (directory, path)
    }

    async fn sizes(mut body: RequestBody) -> Vec<usize> {
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            sizes.push(frame.unwrap().into_data().unwrap().len());
        }
        sizes
    }

    #[tokio::test]
    async fn a_large_file_comes_in_small_pieces() {
        let (_directory, path) = file(b"");
        let length = 100 << 20;
        fs::File::options().write(true).open(&path).unwrap().set_len(length).unwrap();

        let (mut body, transfer) = RequestBody::open(&Source::File(path)).await.unwrap();
        assert_eq!(body.size_hint().exact(), Some(length));
        let mut total = 0;
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!((1..=PIECE_BYTES).contains(&piece.len()), "{}", piece.len());
            total += u64::try_from(piece.len()).unwrap();
            // No more is read than was requested.
            assert_eq!(transfer.handed(), total);
            assert!(total == length || !transfer.is_complete());
        }
        assert_eq!(total, length);
        assert!(transfer.is_complete());
    }

    #[tokio::test]
    async fn bytes_in_memory_are_not_copied_and_come_in_pieces_too() {
        let bytes = Bytes::from(vec![7; PIECE_BYTES + 1]);
        let (body, _) = RequestBody::open(&Source::Bytes(bytes.clone())).await.unwrap();
        assert_eq!(sizes(body).await, [PIECE_BYTES, 1]);
        let (mut body, _) = RequestBody::open(&Source::Bytes(bytes.clone())).await.unwrap();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first.as_ptr(), bytes.as_ptr());
    }

    #[tokio::test]
    async fn an_empty_file_is_an_empty_body() {
        let (_directory, path) = file(b"");
        let (body, transfer) = RequestBody::open(&Source::File(path)).await.unwrap();
        assert!(body.is_end_stream() && transfer.is_complete());
        assert_eq!(sizes(body).await, [0_usize; 0]);
    }

    #[tokio::test]
    async fn a_file_that_changes_never_looks_complete() {
        for length in [10, PIECE_BYTES, PIECE_BYTES + 10] {
            for grows in [true, false] {
                let (_directory, path) = file(&vec![7; length]);
                let (mut body, transfer) = RequestBody::open(&Source::File(path.clone())).await.unwrap();
                let mut handle = fs::File::options().append(true).open(&path).unwrap();
                if grows {
                    handle.write_all(b"more").unwrap();
                } else {
                    handle.set_len(u64::try_from(length).unwrap() - 1).unwrap();
                }
                let failed = loop {
                    match body.frame().await {
                        Some(Ok(_)) => {}
                        Some(Err(_)) => break true,
                        None => break false,
                    }
                };
                assert!(failed && !transfer.is_complete(), "{length} {grows}");
                assert!(matches!(transfer.take_failure(), Some(ClientError::SourceChanged { .. })));
            }
        }
    }

    #[tokio::test]
    async fn a_source_that_is_not_a_regular_file_is_an_error() {
        let (directory, path) = file(b"x");
        let missing = RequestBody::open(&Source::File(directory.path().join("missing"))).await.err().unwrap();
        assert!(matches!(&missing, ClientError::Source { source, .. } if source.kind() == io::ErrorKind::NotFound));
        let listing = RequestBody::open(&Source::File(directory.path().into())).await.err().unwrap();
        assert!(
            matches!(&listing, ClientError::Source { source, .. } if source.to_string() == "it is not a regular file")
        );
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(RequestBody::open(&Source::File(link)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_held_back_for_the_go_ahead_or_a_second() {
        let begun = Instant::now();
        let second = Duration::from_secs(1);
        let go_ahead = GoAhead::new();
        let source = Source::Bytes(Bytes::from_static(b"x"));

        let (body, _) = RequestBody::open(&source).await.unwrap();
        go_ahead.cancel();
        assert_eq!(sizes(body.hold_back(go_ahead, second)).await, [1]);
        assert_eq!(begun.elapsed(), Duration::ZERO);

        let (body, _) = RequestBody::open(&source).await.unwrap();
        assert_eq!(sizes(body.hold_back(GoAhead::new(), second)).await, [1]);
        assert_eq!(begun.elapsed(), second);

        // After a response, the rest of the body is not sent.
        let (body, transfer) = RequestBody::open(&source).await.unwrap();
        transfer.answered();
        let sent = tokio::time::timeout(10 * second, sizes(body.hold_back(GoAhead::new(), second))).await;
        assert!(sent.is_err() && transfer.handed() == 0);
    }

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
