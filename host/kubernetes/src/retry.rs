//! Sends requests to the API server as plain JSON, with retries for a limited time.
//!
//! The retry layer of the `kube` crate is no substitute: it gives up after a number of attempts,
//! not after a time, and retries neither lost connections nor other server errors than 503 and 504.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http::Request;
use http::header::{HeaderMap, RETRY_AFTER};
use kube::api::ListParams;
use kube::client::Body;
use kube::core::Status;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::ClusterError;
use crate::object_text::ObjectText;

/// How long a request is retried. An API server that restarts or moves is back within this time,
/// and a run of several hours must not fail because of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Timeout of one attempt. The API server ends requests other than watches after at most 60 s. Only
/// this timeout detects a connection that broke silently.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Objects per page of a list: the API server's own chunk size.
pub(crate) const PAGE: u32 = 500;

/// Maximum number of pages of one list: 100,000 nodes, twenty times the largest supported cluster.
/// A server whose list never ends is broken.
const MAX_PAGES: usize = 1000;

/// How often a list is restarted because its next page has expired.
const MAX_RESTARTS: usize = 3;

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

/// Sends `request` once, and waits at most `limit` for the response. `what` completes the message
/// "failed to …".
///
/// # Errors
/// Returns an error unless the response is a success with a JSON document.
pub async fn ask_within(
    limit: Duration,
    cluster: &Cluster,
    what: &str,
    request: Request<Body>,
) -> Result<Value, Refusal> {
    within(limit, what, ask(cluster, what, request)).await
}

async fn within<T>(limit: Duration, what: &str, asked: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
    tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| {
        let cause = format!("the API server gave no answer within {} s", limit.as_secs());
        Err(Refusal::of(ClusterError::new(what, cause)))
    })
}

async fn ask<T: DeserializeOwned>(cluster: &Cluster, what: &str, request: Request<Body>) -> Result<T, Refusal> {
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

/// Sends a request without a body once. The caller sets a timeout.
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

/// Sends a request, and retries while that may help, for at most `patience`. `what` completes the
/// message "failed to …".
pub(crate) async fn send_with_retry<T: DeserializeOwned>(
    cluster: &Cluster,
    what: &str,
    patience: Duration,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<T, ClusterError> {
    let request = request.map_err(|error| ClusterError::new(what, error.to_string()))?;
    let act = || within(ATTEMPT, what, ask(cluster, what, request.clone().map(Body::from)));
    retry_while(patience, |error, _| error.is_transient(), act).await
}

/// Runs `act`, and retries for at most `patience` while `may_pass` says that this may help. It gets
/// the error and the time since the first attempt. A delay that the API server asks for is
/// respected.
///
/// # Errors
/// Returns the error of the last attempt.
pub async fn retry_while<T, F: Future<Output = Result<T, Refusal>>>(
    patience: Duration,
    may_pass: impl Fn(&ClusterError, Duration) -> bool,
    act: impl FnMut() -> F,
) -> Result<T, ClusterError> {
    let start = Instant::now();
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(15))
        .with_jitter()
        .without_max_times();
    act.retry(pauses)
        .when(|refusal: &Refusal| may_pass(&refusal.error, start.elapsed()))
        .adjust(|refusal: &Refusal, pause: Option<Duration>| {
            let pause = pause?.max(refusal.retry_after.unwrap_or_default());
            (start.elapsed() + pause < patience).then_some(pause)
        })
        .notify(|refusal: &Refusal, pause: Duration| {
            tracing::warn!("{}; trying again in {} ms", refusal.error, pause.as_millis());
        })
        .await
        .map_err(|refusal| refusal.error)
}

/// Selects the objects to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'a> {
    /// The operation, which completes the message "failed to …".
    pub(crate) what: &'a str,
    pub(crate) path: &'a str,
    pub(crate) labels: Option<&'a str>,
    /// Objects per page. The text of one page is in memory at once.
    pub(crate) page: u32,
    /// Whether to request only metadata. A pod is much larger than what is needed to delete it.
    pub(crate) metadata_only: bool,
    /// How long each page is retried.
    pub(crate) patience: Duration,
}

impl<'a> Listing<'a> {
    /// Selects all objects of a collection. Each page is retried for [`PATIENCE`].
    pub(crate) fn new(what: &'a str, path: &'a str) -> Self {
        Self { what, path, labels: None, page: PAGE, metadata_only: false, patience: PATIENCE }
    }
}

#[derive(Deserialize)]
struct Page {
    metadata: Option<PageMetadata>,
    /// An empty list may have `null`. A document without the field is not a list.
    #[serde(deserialize_with = "Option::deserialize")]
    items: Option<Vec<ObjectText>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    token: Option<String>,
}

/// Lists objects page by page, and returns the result of `read` for each.
///
/// Thousands of objects would be hundreds of megabytes as JSON. If a page has expired, because the
/// list took longer than the server keeps it, the list is restarted.
pub(crate) async fn list<T>(
    cluster: &Cluster,
    listing: &Listing<'_>,
    read: impl Fn(Value) -> T,
) -> Result<Vec<T>, ClusterError> {
    let mut restarts = 0;
    let mut objects = Vec::new();
    let mut next: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut params = ListParams::default().limit(listing.page);
        params.label_selector = listing.labels.map(str::to_owned);
        params.continue_token = next.take();
        let begun = params.continue_token.is_some();
        let collection = kube::core::Request::new(listing.path);
        let request = if listing.metadata_only { collection.list_metadata(&params) } else { collection.list(&params) };
        let page: Page = match send_with_retry(cluster, listing.what, listing.patience, request).await {
            Err(error) if error.code == Some(410) && begun && restarts < MAX_RESTARTS => {
                restarts += 1;
                objects.clear();
                continue;
            }
            page => page?,
        };
        objects.extend(page.items.into_iter().flatten().map(|object| read(object.value())));
        next = page.metadata.and_then(|metadata| metadata.token).filter(|token| !token.is_empty());
        if next.is_none() {
            return Ok(objects);
        }
    }
    Err(ClusterError::new(listing.what, format!("the list has more than {MAX_PAGES} pages")).lasting())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_document_with_items_is_a_list() {
        let count =
            |text: &str| serde_json::from_str::<Page>(text).ok().map(|page| page.items.map_or(0, |all| all.len()));
        assert_eq!(count(r#"{"items":[{"metadata":{"name":"a"}}]}"#), Some(1));
        assert_eq!(count(r#"{"metadata":{},"items":null}"#), Some(0));
        assert_eq!(count("{}"), None);
        assert_eq!(count(r#"{"kind":"Status","metadata":{},"status":"Failure"}"#), None);
    }

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
