//! Responses of untrusted servers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::retry;
use crate::error::{Cause, ServerMessage};
use crate::limits::MAX_TOKEN_BYTES;

/// Reads the whole body, with limits on its size and on the time.
pub(super) async fn bounded(mut answer: Response, limit: u64, patience: Duration) -> Result<Bytes, Cause> {
    if answer.content_length().is_some_and(|said| said > limit) {
        return Err(Cause::TooLarge { limit });
    }
    let read = async {
        let mut bytes = BytesMut::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| retry::cause(&error))? {
            if (bytes.len() + piece.len()) as u64 > limit {
                return Err(Cause::TooLarge { limit });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes.freeze())
    };
    // The pause between two chunks is limited elsewhere. Without this timeout, a server could send
    // a byte per minute.
    tokio::time::timeout(patience, read).await.unwrap_or(Err(Cause::Slow(patience.as_secs())))
}

/// Error response of a registry (OCI distribution specification, "Error codes").
#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<Problem>,
    /// Field that token servers use instead.
    #[serde(default)]
    details: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: Option<String>,
}

/// Returns the message of an error response on one line. An HTML page is ignored, because it adds
/// nothing to the status.
pub(super) async fn told(answer: Response, patience: Duration) -> ServerMessage {
    let Ok(body) = bounded(answer, MAX_TOKEN_BYTES, patience).await else { return ServerMessage::default() };
    let Ok(errors) = serde_json::from_slice::<Errors>(&body) else { return ServerMessage::default() };
    let mut lines: Vec<String> = errors
        .errors
        .into_iter()
        .filter_map(|problem| problem.message.filter(|text| !text.is_empty()).or(problem.code))
        .collect();
    lines.extend(errors.details);
    ServerMessage::new(&lines.join("; "))
}

/// Converts an unexpected response to an error. The caller handles 401, because it knows which
/// credentials were sent.
pub(super) async fn refusal(answer: Response, patience: Duration) -> Cause {
    let status = answer.status();
    let told = told(answer, patience).await;
    match status {
        StatusCode::FORBIDDEN => Cause::Denied(told),
        StatusCode::NOT_FOUND => Cause::NotFound(told),
        _ => Cause::Status { status: status.as_u16(), told },
    }
}
