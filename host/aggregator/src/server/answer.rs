//! HTTP responses. Workers use the status code, and the line of text is for people.

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, LOCATION, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Response, StatusCode};
use bytes::Bytes;
use plumbline_core::ResultKey;
use plumbline_core::ledger::Refusal;
use plumbline_phonehome::CONTENT_TYPE_JSON;

/// Delay in seconds before a worker may retry an upload that is rejected temporarily.
const RETRY_SECONDS: u32 = 5;

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Returns the response for a wrong method of a valid route.
pub(super) fn wrong_method(allowed: &Method) -> Response<Body> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    if let Ok(allowed) = HeaderValue::from_str(allowed.as_str()) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// Returns a response with one line of text.
pub(super) fn line(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(format!("{text}\n")));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns a response with a JSON message.
pub(super) fn json(body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE_JSON));
    response
}

/// Returns a redirect to the canonical form of a path.
pub(super) fn moved(location: &str) -> Response<Body> {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    match HeaderValue::from_str(location) {
        Ok(location) => {
            response.headers_mut().insert(LOCATION, location);
            response
        }
        Err(_) => line(StatusCode::NOT_FOUND, "no such route"),
    }
}

/// Returns the response for an event that the ledger rejected.
pub(super) fn refused(key: &ResultKey, refusal: &Refusal) -> Response<Body> {
    match refusal {
        Refusal::Unexpected(_) => line(StatusCode::FORBIDDEN, &format!("result {key} is not expected in this run")),
        Refusal::AlreadyReceived(_) => line(StatusCode::CONFLICT, &format!("result {key} was already received")),
        Refusal::Busy(_) => {
            let mut response = line(
                StatusCode::SERVICE_UNAVAILABLE,
                &format!("another upload of result {key} is under way: try again"),
            );
            response.headers_mut().insert(RETRY_AFTER, RETRY_SECONDS.into());
            response
        }
        other => line(StatusCode::INTERNAL_SERVER_ERROR, &format!("result {key}: {other}")),
    }
}
