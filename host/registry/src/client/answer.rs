//! Answers of servers, read with suspicion.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::retry;
use crate::error::{Cause, Told};
use crate::limits::MAX_TOKEN_BYTES;

/// The whole body, if it is no longer than it may be.
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
    // The pause between two pieces is limited elsewhere; without this one a server could send a byte a minute.
    tokio::time::timeout(patience, read).await.unwrap_or(Err(Cause::Slow(patience.as_secs())))
}

/// How registries say what is wrong (OCI distribution specification, "Error codes").
#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<Problem>,
    /// What token servers say in its place.
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

/// What a refusal says, in one line. A page of HTML says nothing that the status does not.
pub(super) async fn told(answer: Response, patience: Duration) -> Told {
    let Ok(body) = bounded(answer, MAX_TOKEN_BYTES, patience).await else { return Told::default() };
    let Ok(errors) = serde_json::from_slice::<Errors>(&body) else { return Told::default() };
    let mut lines: Vec<String> = errors
        .errors
        .into_iter()
        .filter_map(|problem| problem.message.filter(|text| !text.is_empty()).or(problem.code))
        .collect();
    lines.extend(errors.details);
    Told::new(&lines.join("; "))
}

/// An answer that is not what was hoped for, by name. 401 is told by whoever knows which credentials were shown.
pub(super) async fn refusal(answer: Response, patience: Duration) -> Cause {
    let status = answer.status();
    let told = told(answer, patience).await;
    match status {
        StatusCode::FORBIDDEN => Cause::Denied(told),
        StatusCode::NOT_FOUND => Cause::NotFound(told),
        _ => Cause::Status { status: status.as_u16(), told },
    }
}
