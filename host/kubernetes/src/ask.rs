//! Sends one request to the API server as plain JSON, and returns its answer.

use std::time::Duration;

use http::Request;
use http::header::{HeaderMap, RETRY_AFTER};
use kube::client::Body;
use kube::core::Status;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// The longest `Retry-After` that is honored. The API server asks for seconds. A larger value is a
/// mistake or malicious.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Maximum number of characters to quote from an answer that is not a Kubernetes document.
const MAX_TEXT: usize = 500;

/// A failed request: an error response, or none at all.
#[derive(Debug)]
pub struct Refusal {
    /// The error.
    pub error: ClusterError,
    /// The delay before the next attempt that the API server asks for, if any, at most 30 s.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// Wraps an error without a retry delay, for example one of the client itself.
    #[must_use]
    pub fn of(error: ClusterError) -> Self {
        Self { error, retry_after: None }
    }
}

/// Sends `request` once. `what` completes the message "failed to …". There is no timeout: the
/// caller sets one.
///
/// # Errors
/// Returns an error unless the response is a success with a JSON document.
pub async fn ask(cluster: &Cluster, what: &str, request: Request<Body>) -> Result<Value, Refusal> {
    let failed = |error: kube::Error| Refusal::of(ClusterError::api(what, &error));
    // `Client::request` is not used here because it hides the headers of an error response, such as
    // `Retry-After`.
    let (head, body) = cluster.client().send(request).await.map_err(failed)?.into_parts();
    let body = body.collect_bytes().await.map_err(failed)?;
    if head.status.is_success() {
        return serde_json::from_slice(&body).map_err(|error| failed(kube::Error::SerdeError(error)));
    }
    let code = head.status.as_u16();
    let status = match serde_json::from_slice::<Status>(&body) {
        Ok(status) if status.code != 0 || !status.message.is_empty() => status.with_code(code),
        // This comes from a proxy, or from the filter of the API server that rejects requests
        // before parsing them.
        _ => {
            let text: String = String::from_utf8_lossy(&body).trim().chars().take(MAX_TEXT).collect();
            Status::failure(&text, head.status.canonical_reason().unwrap_or("unknown")).with_code(code)
        }
    };
    let retry_after = retry_after(&head.headers, &status);
    Err(Refusal { retry_after, ..failed(kube::Error::Api(status.boxed())) })
}

pub(crate) async fn get(
    cluster: &Cluster,
    what: &str,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Value, ClusterError> {
    let request = request.map_err(|error| ClusterError::new(what, error.to_string()))?;
    ask(cluster, what, request.map(Body::from)).await.map_err(|refusal| refusal.error)
}

fn retry_after(headers: &HeaderMap, status: &Status) -> Option<Duration> {
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let body = status.details.as_ref().map(|details| u64::from(details.retry_after_seconds));
    header.or(body).filter(|&seconds| seconds > 0).map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_the_server_names_is_believed_within_bounds() {
        let headers = |value: &str| HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
        let status = Status::failure("busy", "TooManyRequests");
        assert_eq!(retry_after(&headers("2"), &status), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(&headers("99999999999"), &status), Some(MAX_RETRY_AFTER));
        assert_eq!(retry_after(&headers("soon"), &status), None);
        let status: Status = serde_json::from_str(r#"{"code": 429, "details": {"retryAfterSeconds": 3}}"#).unwrap();
        assert_eq!(retry_after(&HeaderMap::new(), &status), Some(Duration::from_secs(3)));
    }
}
