//! Uploads: admission, streaming to disk within limits, storing, and recording.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::StreamExt;
use jiff::SignedDuration;
use plumbline_archive::atomic::is_temporary;
use plumbline_core::ledger::{ErrorRecord, Event, KeyState, Refusal};
use plumbline_core::limits::BODY_MEMORY;
use plumbline_core::{ReceiveLimits, ResultKey};
use plumbline_phonehome::{HEADER_ERROR, disposition_file_name, is_archive};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use super::incoming::Incoming;
use super::response::{ReceiveError, apply_error, drain_after, line, refuse, refused};
use super::shares::Shares;
use super::space::Lacking;
use super::store::{Shape, Store, Unpacked};
use crate::state::{ApplyError, State};

/// Minimum age of a retry window before it starts again, which limits the journal's queue.
const RENEWAL: SignedDuration = SignedDuration::from_secs(30);

/// Receives results.
pub(super) struct Receiver {
    pub(super) state: State,
    pub(super) store: Store,
    pub(super) limits: ReceiveLimits,
    next: AtomicU64,
    /// Memory for bodies that arrive.
    pub(super) memory: Arc<Shares>,
    /// Permit to parse a long message.
    pub(super) parsing: Semaphore,
    pub(super) lacking: Lacking,
}

impl Receiver {
    pub(super) fn new(state: State, store: Store, limits: ReceiveLimits) -> Self {
        // IDs distinguish uploads of the same key. They must not repeat after a restart of the run.
        let first = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
        let memory = Shares::new(state.clone(), BODY_MEMORY);
        let lacking = Lacking::default();
        Self { state, store, limits, next: AtomicU64::new(first), memory, parsing: Semaphore::new(1), lacking }
    }

    /// Handles `PUT` of a result.
    pub(super) async fn put(&self, key: ResultKey, headers: &HeaderMap, body: Body) -> Response {
        match self.admit(&key, headers).await {
            Ok(Some(shape)) => {
                // Workers always send a file name. Only error reports of Sonobuoy have none.
                let is_named = headers.contains_key(CONTENT_DISPOSITION);
                self.receive_result(key, shape, is_named, body).await
            }
            Ok(None) => self.receive_error(key, body).await,
            Err(answer) => {
                refuse(headers, body).await;
                *answer
            }
        }
    }

    /// Handles `PUT` of a partial result, which does not complete the result.
    pub(super) async fn put_partial(&self, key: ResultKey, headers: &HeaderMap, body: Body) -> Response {
        let admitted = if self.state.wants_partial(&key) {
            self.check_length(&key, headers).and_then(|()| self.shape(&key, headers))
        } else {
            Err(Box::new(line(StatusCode::CONFLICT, &format!("no partial result of {key} is expected"))))
        };
        let shape = match admitted {
            Ok(Some(shape)) => shape,
            Ok(None) => return StatusCode::BAD_REQUEST.into_response(),
            Err(answer) => {
                refuse(headers, body).await;
                return *answer;
            }
        };
        let mut stream = body.into_data_stream();
        let result = async {
            let unpacked = self.receive(&key, shape, &mut stream, &mut 0).await?.finish().await?;
            let bytes = unpacked.stored.bytes;
            let placed = self.state.place_partial(&key, || self.store.place_partial(unpacked, &key))?;
            Ok::<_, ReceiveError>(placed.then_some(bytes))
        };
        match result.await {
            Ok(Some(bytes)) => {
                tracing::info!(plugin = %key.plugin, node = %key.node, bytes, "partial result received");
                StatusCode::OK.into_response()
            }
            Ok(None) => {
                line(StatusCode::CONFLICT, &format!("partial result {key}: it arrived too late, or after another one"))
            }
            Err(error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "partial result not stored: {error}");
                drain_after(&error, &mut stream).await;
                error.response(&format!("partial result {key}"))
            }
        }
    }

    /// Checks a request before the body is read. A final answer takes precedence over a retry.
    async fn admit(&self, key: &ResultKey, headers: &HeaderMap) -> Result<Option<Shape>, Box<Response>> {
        let shape = match self.state.read(|ledger| ledger.admit(key)) {
            Ok(()) => {
                self.check_length(key, headers)?;
                Ok(self.shape(key, headers)?)
            }
            Err(refusal @ Refusal::Unexpected(_)) => return Err(Box::new(refused(key, &refusal))),
            // An upload in progress takes space that may be free at the next attempt.
            Err(refusal) => Err(refusal),
        };
        if let Some(trouble) = self.state.trouble() {
            self.renew_retry(key, &trouble);
            return Err(Box::new(line(StatusCode::SERVICE_UNAVAILABLE, &format!("result {key}: {trouble}"))));
        }
        let refusal = match shape {
            Ok(shape) => {
                // Errors may use the reserve.
                if shape.is_some() {
                    self.check_space(key, content_length(headers)).await?;
                }
                return Ok(shape);
            }
            Err(refusal) => refusal,
        };
        // The worker interprets this response as an acknowledgement that the result is safe.
        if matches!(refusal, Refusal::AlreadyReceived(_))
            && let Err(error) = self.state.synced().await
        {
            return Err(Box::new(apply_error(key, &error)));
        }
        Err(Box::new(refused(key, &refusal)))
    }

    /// Starts the retry window of `key` again: this machine prevents the retry, not the worker.
    pub(super) fn renew_retry(&self, key: &ResultKey, trouble: &str) {
        let now = self.state.now();
        let is_due = self.state.read(|ledger| match ledger.state(key) {
            Some(KeyState::Broken { at, .. }) => now.duration_since(at) >= RENEWAL,
            _ => false,
        });
        if !is_due {
            return;
        }
        let delayed = Event::RetryDelayed { key: key.clone(), reason: trouble.to_owned() };
        if let Err(error) = self.state.apply(delayed) {
            tracing::warn!("not recorded: {error}");
        }
    }

    /// Rejects a body whose declared length is above a limit, or larger than the file system.
    fn check_length(&self, key: &ResultKey, headers: &HeaderMap) -> Result<(), Box<Response>> {
        let Some(length) = content_length(headers) else { return Ok(()) };
        let checked = if length > self.limits.body_bytes {
            Err(ReceiveError::TooLarge(self.limits.body_bytes))
        } else if headers.contains_key(HEADER_ERROR) {
            // Error reports do not count toward the space for results.
            Ok(())
        } else {
            self.store.check_size(&key.plugin, length).map_err(ReceiveError::from)
        };
        checked.map_err(|error| Box::new(error.response(&format!("result {key}"))))
    }

    /// Determines the form of the body from the headers, or returns `None` for an error report.
    fn shape(&self, key: &ResultKey, headers: &HeaderMap) -> Result<Option<Shape>, Box<Response>> {
        if headers.contains_key(HEADER_ERROR) {
            return Ok(None);
        }
        if is_archive(headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes)) {
            return Ok(Some(Shape::Archive));
        }
        match disposition_file_name(headers.get(CONTENT_DISPOSITION).map(HeaderValue::as_bytes)) {
            // The archive would leave it out, as the file of a killed process.
            Ok(name) if is_temporary(name.as_str().as_ref()) => {
                let text = format!("result {key}: the file name `{}` is reserved for temporary files", name.as_str());
                Err(Box::new(line(StatusCode::BAD_REQUEST, &text)))
            }
            Ok(name) => Ok(Some(Shape::File(name.as_str().to_owned()))),
            Err(error) => Err(Box::new(line(StatusCode::BAD_REQUEST, &format!("result {key}: {error}")))),
        }
    }

    async fn receive_result(&self, key: ResultKey, shape: Shape, is_named: bool, body: Body) -> Response {
        let upload = self.next.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.state.apply(Event::UploadStarted { key: key.clone(), upload }) {
            return apply_error(&key, &error);
        }
        // The guard reports the end of the upload, even if this future is dropped.
        let mut guard = UploadGuard { state: &self.state, key: &key, upload, armed: true };
        let mut stream = body.into_data_stream();
        let mut received = 0;
        let result = async {
            let mut body = self.receive(&key, shape, &mut stream, &mut received).await?;
            if !is_named {
                body = body.flush().await?;
                if let Some(error) = error_report(body.path(), self.limits.message_bytes)? {
                    return Ok(Received::Error(error));
                }
            }
            let unpacked = body.finish().await?;
            Ok::<_, ReceiveError>(Received::Result(unpacked))
        }
        .await;
        // No `await` until the end is recorded, or left to a task that survives the connection.
        guard.armed = false;
        drop(guard);
        match result {
            Ok(Received::Error(error)) => {
                let reason = format!("the worker sent an error in place of a result: {}", error.error);
                tracing::warn!(plugin = %key.plugin, node = %key.node, "{reason}");
                let failed = Event::UploadFailed { key: key.clone(), upload, reason };
                let ended = self.state.apply(failed);
                match ended.and(self.state.apply_promptly(Event::Failed { key: key.clone(), error }).await) {
                    Ok(()) => StatusCode::OK.into_response(),
                    Err(error) => apply_error(&key, &error),
                }
            }
            Ok(Received::Result(unpacked)) => {
                self.lacking.forget(&key);
                let commit = commit(self.state.clone(), self.store.clone(), key.clone(), upload, unpacked);
                match tokio::spawn(commit).await {
                    Ok(answer) => answer,
                    Err(error) => failed_to_store(&self.state, key, upload, io::Error::other(error)),
                }
            }
            Err(error) => {
                tracing::warn!(plugin = %key.plugin, node = %key.node, "upload failed: {error}");
                match error.lacked_space(received) {
                    Some(bytes) => self.lacking.remember(&key, bytes),
                    None => self.lacking.forget(&key),
                }
                // Before the next `await`: if the connection breaks there, nobody records the end.
                let answer = upload_failed(&self.state, key, upload, &error);
                drain_after(&error, &mut stream).await;
                answer
            }
        }
    }

    /// Handles a worker's report that there is no result.
    async fn receive_error(&self, key: ResultKey, body: Body) -> Response {
        let message = match self.read_message(&key.plugin, body, self.limits.message_bytes).await {
            Ok(message) => message,
            Err(error) => return error.response(&format!("result {key}")),
        };
        let record = ErrorRecord::received(&message.bytes);
        drop(message);
        let error = match record {
            Ok(error) => error,
            Err(error) => {
                return line(StatusCode::BAD_REQUEST, &format!("result {key}: not an error document: {error}"));
            }
        };
        match self.state.apply_promptly(Event::Failed { key: key.clone(), error }).await {
            Ok(()) => StatusCode::OK.into_response(),
            Err(error) => apply_error(&key, &error),
        }
    }

    /// Receives a whole body, of which only a few bytes are in memory. Adds its bytes to `total`.
    async fn receive(
        &self,
        key: &ResultKey,
        shape: Shape,
        stream: &mut BodyDataStream,
        total: &mut u64,
    ) -> Result<Incoming, ReceiveError> {
        let limits = &self.limits;
        let deadline = Instant::now() + Duration::from_secs(limits.upload_seconds);
        let mut body = Incoming::new(&self.store, &key.plugin, shape, self.memory.of(key.plugin.as_str()));
        while let Some(frame) = next(stream, limits, deadline).await? {
            *total += frame.len() as u64;
            if *total > limits.body_bytes {
                return Err(ReceiveError::TooLarge(limits.body_bytes));
            }
            if body.add(&frame) {
                body = body.flush().await?;
            }
        }
        Ok(body)
    }
}

/// Makes a complete upload the result of `key`: claims it, moves it, and records it. A rejected
/// claim leaves nothing behind.
async fn commit(state: State, store: Store, key: ResultKey, upload: u64, unpacked: Unpacked) -> Response {
    match state.apply(Event::UploadClaimed { key: key.clone(), upload }) {
        Ok(()) => {}
        Err(ApplyError::Journal(error)) => return failed_to_store(&state, key, upload, io::Error::other(error)),
        Err(error) => return apply_error(&key, &error),
    }
    let stored = unpacked.stored.clone();
    let target = key.clone();
    let placed = tokio::task::spawn_blocking(move || store.place(unpacked, &target)).await;
    if let Err(error) = placed.map_err(io::Error::other).flatten() {
        return failed_to_store(&state, key, upload, error);
    }
    let bytes = stored.bytes;
    match state.apply_promptly(Event::UploadStored { key: key.clone(), upload, stored }).await {
        Ok(()) => {
            tracing::info!(plugin = %key.plugin, node = %key.node, bytes, "result received");
            StatusCode::OK.into_response()
        }
        Err(error) => apply_error(&key, &error),
    }
}

/// Records that this machine failed to store a complete upload, and returns the response. The
/// worker may retry it.
fn failed_to_store(state: &State, key: ResultKey, upload: u64, error: io::Error) -> Response {
    tracing::error!(plugin = %key.plugin, node = %key.node, "failed to store the result: {error}");
    upload_failed(state, key, upload, &ReceiveError::Io(error))
}

/// Records the end of an upload that failed, and returns the response. It does not count toward the
/// limit of failed uploads if the disk is full, because the worker did not cause that.
fn upload_failed(state: &State, key: ResultKey, upload: u64, error: &ReceiveError) -> Response {
    let answer = error.response(&format!("result {key}"));
    let reason = error.to_string();
    let ended = match error.lacked_space(0) {
        Some(_) => Event::UploadDelayed { key, upload, reason },
        None => Event::UploadFailed { key, upload, reason },
    };
    if let Err(error) = state.apply(ended) {
        tracing::error!("{error}");
    }
    answer
}

/// Content of a received upload.
enum Received {
    Result(Unpacked),
    Error(ErrorRecord),
}

/// Returns the error that Sonobuoy's worker sends as a result: `{"error": "…"}`.
fn error_report(body: Option<&Path>, limit: u64) -> io::Result<Option<ErrorRecord>> {
    let Some(body) = body else { return Ok(None) };
    let mut bytes = Vec::new();
    File::open(body)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let fits = bytes.len() as u64 <= limit && bytes.first() == Some(&b'{');
    let record = if fits { ErrorRecord::received(&bytes).ok() } else { None };
    Ok(record.filter(|record| record.details.is_empty()))
}

/// Records the failure of an upload whose connection was closed before it was complete.
struct UploadGuard<'a> {
    state: &'a State,
    key: &'a ResultKey,
    upload: u64,
    armed: bool,
}

impl Drop for UploadGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            let reason = "the connection was closed before the result was complete".to_owned();
            tracing::warn!(plugin = %self.key.plugin, node = %self.key.node, "upload failed: {reason}");
            if let Err(error) = self.state.abandon(self.key, self.upload, reason) {
                tracing::error!("{error}");
            }
        }
    }
}

/// Returns the declared length of a body in bytes.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

async fn next(
    stream: &mut BodyDataStream,
    limits: &ReceiveLimits,
    deadline: Instant,
) -> Result<Option<Bytes>, ReceiveError> {
    let frame = timeout_at(deadline, timeout(limits.idle(), stream.next())).await;
    let frame = frame.map_err(|_| ReceiveError::TooSlow(limits.upload_seconds))?;
    frame.map_err(|_| ReceiveError::Idle(limits.idle_seconds))?.transpose().map_err(ReceiveError::Broken)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use plumbline_archive::disk::{Disk, Faults, Step};
    use plumbline_core::PluginName;
    use plumbline_core::ledger::Ledger;

    use super::*;
    use crate::journal::{Journal, JournalError};

    /// A disk without space for data.
    struct Full;

    impl Faults for Full {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            if matches!(step, Step::Write(..)) { Err(io::ErrorKind::StorageFull.into()) } else { act() }
        }
    }

    #[tokio::test]
    async fn a_retry_window_starts_again_while_the_journal_prevents_the_retry() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, key): (PluginName, ResultKey) = ("p".parse().unwrap(), "p/global".parse().unwrap());
        let broken = Timestamp::now() - SignedDuration::from_secs(60);
        let events = [
            Event::Planned { plugin: plugin.clone(), keys: vec![key.clone()] },
            Event::UploadStarted { key: key.clone(), upload: 1 },
            Event::UploadFailed { key: key.clone(), upload: 1, reason: "connection reset".to_owned() },
        ];
        let ledger = Ledger::replay(events.map(|event| (broken, event))).unwrap();
        let disk = Disk::faulty(Arc::new(Full));
        let (journal, _) = Journal::open_on(&disk, &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(ledger, journal);
        state.apply(Event::Launched { plugin: plugin.clone() }).unwrap();
        let in_trouble = async {
            while state.trouble().is_none() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(60), in_trouble).await.unwrap();

        let limits = ReceiveLimits::default();
        let (incoming, tree) = (dir.path().join("incoming"), dir.path().join("tree"));
        let store = Store::create(&Disk::default(), incoming, tree, &limits).unwrap();
        let receiver = Receiver::new(state.clone(), store, limits);
        let refused = receiver.admit(&key, &HeaderMap::new()).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        // The window of the first failure ends before this time.
        let later = state.now() + SignedDuration::from_secs(90);
        assert!(!state.read(|ledger| ledger.is_plugin_complete(&plugin, later)));
        let reason = state.status().plugins.unwrap().remove(0).reason.unwrap();
        assert!(reason.contains("journal"), "{reason}");
    }

    #[tokio::test]
    async fn a_rejected_upload_has_ended_before_the_rest_of_its_body_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let (plugin, key): (PluginName, ResultKey) = ("p".parse().unwrap(), "p/global".parse().unwrap());
        let planned = Event::Planned { plugin, keys: vec![key.clone()] };
        let ledger = Ledger::replay([(Timestamp::now(), planned)]).unwrap();
        let (journal, _) = Journal::open_on(&Disk::default(), &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(ledger, journal);
        let limits = ReceiveLimits { body_bytes: 10, ..ReceiveLimits::default() };
        let (incoming, tree) = (dir.path().join("incoming"), dir.path().join("tree"));
        let store = Store::create(&Disk::default(), incoming, tree, &limits).unwrap();
        let receiver = Receiver::new(state.clone(), store, limits);
        let piece = Ok::<_, io::Error>(Bytes::from_static(b"more than ten bytes"));
        let body = futures_util::stream::iter([piece]).chain(futures_util::stream::pending());
        let headers = HeaderMap::new();
        let put = receiver.put(key.clone(), &headers, Body::from_stream(body));
        // The connection breaks while the rest is awaited.
        assert!(timeout(Duration::from_millis(1), put).await.is_err());
        assert!(matches!(state.read(|ledger| ledger.state(&key)), Some(KeyState::Broken { .. })));
    }

    #[test]
    fn an_upload_and_a_plugin_can_end_while_the_queue_of_the_journal_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let plugin: PluginName = "p".parse().unwrap();
        let keys: Vec<ResultKey> = (0..128).map(|n| format!("p/n{n}").parse().unwrap()).collect();
        let other: PluginName = "q".parse().unwrap();
        let planned = [
            Event::Planned { plugin: plugin.clone(), keys: keys.clone() },
            Event::Planned { plugin: other.clone(), keys: Vec::new() },
        ];
        let ledger = Ledger::replay(planned.map(|event| (Timestamp::now(), event))).unwrap();
        let disk = Disk::faulty(Arc::new(Full));
        let (journal, _) = Journal::open_on(&disk, &dir.path().join("journal")).unwrap();
        let (state, _effects) = State::new(ledger, journal);
        let key = keys[0].clone();
        state.apply(Event::UploadStarted { key: key.clone(), upload: 1 }).unwrap();
        let reason = "x".repeat(1 << 20);
        let fail = |key: &ResultKey| {
            // This reason is not cut, and is accepted although the queue is full.
            state.apply(Event::LaunchFailed { plugin: other.clone(), reason: reason.clone() }).unwrap();
            state.apply(Event::Failed { key: key.clone(), error: ErrorRecord::new("the pod is gone") })
        };
        let refused = keys[1..].iter().find_map(|key| fail(key).err()).expect("the queue has no limit");
        assert!(matches!(refused, ApplyError::Journal(JournalError::Full)), "{refused}");

        state.apply(Event::UploadFailed { key, upload: 1, reason: "connection reset".to_owned() }).unwrap();
        assert_eq!(state.read(|ledger| ledger.uploads().count()), 0);
        state.apply(Event::TimedOut { plugin }).unwrap();
    }
}
