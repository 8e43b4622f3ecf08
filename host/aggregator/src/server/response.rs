//! Responses to workers, and what happens to the body of a request that is rejected.

use std::io;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{CONTENT_TYPE, EXPECT, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use plumbline_archive::extract::{Blame, ExtractError};
use plumbline_core::ResultKey;
use plumbline_core::ledger::Refusal;
use tokio::time::timeout;

use super::store::StoreError;
use crate::journal::lacks_space;
use crate::state::ApplyError;

/// Maximum number of bytes to read of a rejected body, so that a sender gets the response.
const DRAIN_BYTES: usize = 256 << 10;
/// Maximum time to read a rejected body.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Delay in seconds before a worker may retry an upload that is rejected temporarily.
const RETRY_SECONDS: u32 = 5;

/// Reason why a body did not become a result.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReceiveError {
    #[error("the body has more than {0} bytes")]
    TooLarge(u64),
    #[error("no data for {0} s")]
    Idle(u64),
    #[error("timed out after {0} s")]
    TooSlow(u64),
    #[error("the body was interrupted: {0}")]
    Broken(axum::Error),
    #[error("the plugin sends too many messages at the same time")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("failed to store it: {0}")]
    Io(#[from] io::Error),
}

impl ReceiveError {
    fn status(&self) -> StatusCode {
        match self {
            full if lacks_space(full) => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge(_) | Self::Store(StoreError::OverBudget(_) | StoreError::LargerThanDisk { .. }) => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            Self::Idle(_) | Self::TooSlow(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Store(StoreError::Archive(error)) => match error.blame() {
                Blame::Archive => StatusCode::BAD_REQUEST,
                Blame::Size => StatusCode::PAYLOAD_TOO_LARGE,
                Blame::Transport | Blame::Host => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Broken(_) | Self::Store(StoreError::Io(_)) | Self::Io(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns how many bytes of disk space the upload takes at least, if it failed because the disk
    /// is full. `body` bytes of it had arrived.
    pub(super) fn lacked_space(&self, body: u64) -> Option<u64> {
        match self {
            other if !lacks_space(other) => None,
            Self::Store(StoreError::Archive(ExtractError::NoSpace { bytes, .. })) => Some(body.saturating_add(*bytes)),
            _ => Some(body),
        }
    }

    /// Returns the response for an upload of `what` that failed for this reason.
    pub(super) fn response(&self, what: &str) -> Response {
        let text = format!("{what}: {self}");
        match self.status() {
            StatusCode::SERVICE_UNAVAILABLE => unavailable(&text),
            status => line(status, &text),
        }
    }
}

/// Returns the response for an event about `key` that was not recorded.
pub(super) fn apply_error(key: &ResultKey, error: &ApplyError) -> Response {
    match error {
        ApplyError::Refused(refusal) => refused(key, refusal),
        other => line(StatusCode::SERVICE_UNAVAILABLE, &format!("result {key}: {other}")),
    }
}

/// Reads the rest of a rejected body, unless the client waits for `100 Continue`.
pub(super) async fn refuse(headers: &HeaderMap, body: Body) {
    if headers.contains_key(EXPECT) {
        return;
    }
    drain(&mut body.into_data_stream()).await;
}

/// Reads the rest of a body that was rejected while it was sent, as [`drain`] does.
pub(super) async fn drain_after(error: &ReceiveError, stream: &mut BodyDataStream) {
    if [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::SERVICE_UNAVAILABLE].contains(&error.status()) {
        drain(stream).await;
    }
}

/// Reads and discards a body. Otherwise a sender would see a reset instead of the response.
async fn drain(stream: &mut BodyDataStream) {
    let drain = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = stream.next().await {
            drained += frame.len();
            if drained > DRAIN_BYTES {
                break;
            }
        }
    };
    // It does not matter whether the whole body was read.
    let _ = timeout(DRAIN_TIME, drain).await;
}

/// Returns a response with one line of text.
pub(super) fn line(status: StatusCode, text: &str) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, format!("{text}\n")).into_response()
}

/// Returns the response for an upload that is rejected temporarily.
fn unavailable(text: &str) -> Response {
    let mut response = line(StatusCode::SERVICE_UNAVAILABLE, text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
    response
}

/// Returns the response for an event that the ledger rejected.
pub(super) fn refused(key: &ResultKey, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Unexpected(_) => line(StatusCode::FORBIDDEN, &format!("result {key} is not expected in this run")),
        Refusal::AlreadyReceived(_) => line(StatusCode::CONFLICT, &format!("result {key} was already received")),
        Refusal::Busy(_) => unavailable(&format!("another upload of result {key} is under way: try again")),
        other => line(StatusCode::INTERNAL_SERVER_ERROR, &format!("result {key}: {other}")),
    }
}
