//! HTTP answers.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Body;
use serde_json::Value;

use crate::failure::Failure;

/// An answer; its body may be a stream without an end, and may break off.
pub(crate) type Answer = Response<BoxBody<Bytes, io::Error>>;

/// An answer with JSON.
pub(crate) fn json(code: u16, value: &Value) -> Answer {
    bytes(code, "application/json", value.to_string())
}

/// An answer with text.
pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Answer {
    bytes(code, "text/plain; charset=utf-8", text)
}

/// A refusal.
pub(crate) fn failure(failure: &Failure) -> Answer {
    let mut answer = json(failure.code, &failure.body());
    if let Some(seconds) = failure.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// An answer whose body comes bit by bit.
pub(crate) fn stream<B>(content_type: &'static str, body: B) -> Answer
where
    B: Body<Data = Bytes, Error = io::Error> + Send + Sync + 'static,
{
    let mut answer = Response::new(BoxBody::new(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An answer with bytes of a given type. A code that HTTP does not know becomes 500.
pub(crate) fn bytes(code: u16, content_type: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let body = Full::new(bytes.into()).map_err(|never| match never {});
    let mut answer = Response::new(BoxBody::new(body));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
