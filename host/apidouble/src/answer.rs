//! HTTP responses.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Body;
use serde_json::Value;

use crate::failure::Failure;

/// A response. Its body may be an endless stream, and may be interrupted.
pub(crate) type Answer = Response<BoxBody<Bytes, io::Error>>;

/// Returns a JSON response.
pub(crate) fn json(code: u16, value: &Value) -> Answer {
    bytes(code, "application/json", value.to_string())
}

/// Returns a plain text response.
pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Answer {
    bytes(code, "text/plain; charset=utf-8", text)
}

/// Returns the response for a failure.
pub(crate) fn failure(failure: &Failure) -> Answer {
    let mut answer = json(failure.code, &failure.body());
    if let Some(seconds) = failure.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// Returns a response whose body is streamed.
pub(crate) fn stream<B>(content_type: &'static str, body: B) -> Answer
where
    B: Body<Data = Bytes, Error = io::Error> + Send + Sync + 'static,
{
    let mut answer = Response::new(BoxBody::new(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// Returns a response with bytes of a given content type. An invalid status code becomes 500.
pub(crate) fn bytes(code: u16, content_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let body = Full::new(bytes.into()).map_err(|never| match never {});
    let mut answer = Response::new(BoxBody::new(body));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
