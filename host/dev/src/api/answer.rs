//! HTTP responses, and failures as the `Status` objects that clients read.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::Body;
use serde_json::{Value, json};

use crate::api::{json as at, resources::Resource};

/// A response. Its body may be an endless stream, and may be interrupted.
pub(crate) type Answer = Response<BoxBody<Bytes, io::Error>>;

pub(crate) fn json(code: u16, value: &Value) -> Answer {
    bytes(code, "application/json", value.to_string())
}

pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Answer {
    bytes(code, "text/plain; charset=utf-8", text)
}

pub(crate) fn failure(failure: &Failure) -> Answer {
    let mut answer = json(failure.code, &failure.body());
    if let Some(seconds) = failure.retry_after {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

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

/// A failure, which becomes an HTTP response with a `Status` object.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) code: u16,
    reason: &'static str,
    message: String,
    details: Option<Value>,
    /// Seconds for the header `Retry-After` and the details.
    retry_after: Option<u64>,
}

impl Failure {
    /// Creates a failure with a code and a message only.
    pub(crate) fn plain(code: u16, message: impl Into<String>) -> Self {
        Self { code, reason: reason(code), message: message.into(), details: None, retry_after: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, message)
    }

    /// Creates a failure for an object that does not exist.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        Self::plain(404, format!("{} \"{name}\" not found", resource.id())).about(resource, name)
    }

    /// Creates a failure for an unknown path or kind.
    pub(crate) fn unknown_path() -> Self {
        Self { details: Some(json!({})), ..Self::plain(404, "the server could not find the requested resource") }
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.id());
        Self { reason: "AlreadyExists", ..Self::plain(409, message) }.about(resource, name)
    }

    /// Creates a failure for an object in an unexpected state.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.id());
        Self::plain(409, message).about(resource, name)
    }

    /// Creates a failure for a request that starts from an expired version.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, message)
    }

    /// Creates a failure for an invalid field.
    pub(crate) fn invalid(resource: &Resource, name: &str, field: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is invalid: {field}: {why}", resource.kind);
        let mut failure = Self::plain(422, message).about(resource, name);
        if let Some(details) = &mut failure.details {
            at::set(details, &["kind"], resource.kind.as_str());
            at::set(details, &["causes"], json!([{"reason": "FieldValueInvalid", "message": why, "field": field}]));
        }
        failure
    }

    /// Sets the object in the details.
    pub(crate) fn about(mut self, resource: &Resource, name: &str) -> Self {
        let mut details = json!({"kind": resource.plural});
        if !name.is_empty() {
            at::set(&mut details, &["name"], name);
        }
        if !resource.group.is_empty() {
            at::set(&mut details, &["group"], resource.group.as_str());
        }
        self.details = Some(details);
        self
    }

    /// Sets the number of seconds after which the client should retry.
    pub(crate) fn retry_after(mut self, seconds: Option<u64>) -> Self {
        if let Some(seconds) = seconds {
            let details = self.details.get_or_insert_with(|| json!({}));
            at::set(details, &["retryAfterSeconds"], seconds);
        }
        self.retry_after = seconds;
        self
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            at::set(&mut body, &["reason"], self.reason);
        }
        if let Some(details) = &self.details {
            at::set(&mut body, &["details"], details.clone());
        }
        body
    }
}

/// Returns the machine-readable reason for a code, if there is one.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
