//! One request to the API server as plain JSON, and its answer.

use std::time::Duration;

use http::Request;
use http::header::{HeaderMap, RETRY_AFTER};
use kube::client::Body;
use kube::core::Status;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// The longest wait that the API server is granted when it names one. It asks for seconds; more would be a mistake or malice.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Characters of an answer that is no document of Kubernetes, for a message.
const MAX_TEXT: usize = 500;

/// An answer that is an error, or none at all.
#[derive(Debug)]
pub struct Refusal {
    /// What went wrong.
    pub error: ClusterError,
    /// After how long the API server wants to be asked again, if it says so; at most 30 s.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// An error of this side, or one that says nothing of when to ask again.
    #[must_use]
    pub fn of(error: ClusterError) -> Self {
        Self { error, retry_after: None }
    }
}

/// Sends `request` once; `what` reads after «failed to». There is no limit of time here: the caller sets one.
///
/// # Errors
/// Whatever is not an answer of success with a JSON document.
pub async fn ask(cluster: &Cluster, what: &str, request: Request<Body>) -> Result<Value, Refusal> {
    let failed = |error: kube::Error| Refusal::of(ClusterError::api(what, &error));
    // Not `Client::request`: it keeps the headers of a refusal to itself, and `Retry-After` is one.
    let (head, body) = cluster.client().send(request).await.map_err(failed)?.into_parts();
    let body = body.collect_bytes().await.map_err(failed)?;
    if head.status.is_success() {
        return serde_json::from_slice(&body).map_err(|error| failed(kube::Error::SerdeError(error)));
    }
    let code = head.status.as_u16();
    let status = match serde_json::from_slice::<Status>(&body) {
        Ok(status) if status.code != 0 || !status.message.is_empty() => status.with_code(code),
        // From a proxy, or from the part of the API server that turns requests away before they are read.
        _ => {
            let text: String = String::from_utf8_lossy(&body).trim().chars().take(MAX_TEXT).collect();
            Status::failure(&text, head.status.canonical_reason().unwrap_or("unknown")).with_code(code)
        }
    };
    let retry_after = retry_after(&head.headers, &status);
    Err(Refusal { retry_after, ..failed(kube::Error::Api(status.boxed())) })
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
        let told: Status = serde_json::from_str(r#"{"code": 429, "details": {"retryAfterSeconds": 3}}"#).unwrap();
        assert_eq!(retry_after(&HeaderMap::new(), &told), Some(Duration::from_secs(3)));
    }
}
