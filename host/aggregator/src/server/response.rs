//! Responses of the server. Workers use the status code, and the line of text is for people.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use plumbline_core::ResultKey;
use plumbline_core::ledger::Refusal;

/// Delay in seconds before a worker may retry an upload that is rejected temporarily.
const RETRY_SECONDS: u32 = 5;

/// Returns a response with one line of text.
pub(super) fn line(status: StatusCode, text: &str) -> Response {
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, format!("{text}\n")).into_response()
}

/// Returns the response for an event that the ledger rejected.
pub(super) fn refused(key: &ResultKey, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Unexpected(_) => line(StatusCode::FORBIDDEN, &format!("result {key} is not expected in this run")),
        Refusal::AlreadyReceived(_) => line(StatusCode::CONFLICT, &format!("result {key} was already received")),
        Refusal::Busy(_) => {
            let text = format!("another upload of result {key} is under way: try again");
            let mut response = line(StatusCode::SERVICE_UNAVAILABLE, &text);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
            response
        }
        other => line(StatusCode::INTERNAL_SERVER_ERROR, &format!("result {key}: {other}")),
    }
}
