//! Asking the API server until it answers: requests as plain JSON, repeated while that may help, for a bounded time.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http::Request;
use http::header::{HeaderMap, RETRY_AFTER};
use kube::api::ListParams;
use kube::client::Body;
use kube::core::Status;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::ClusterError;

/// How long a request is repeated: an API server that is restarted or moved is back within this time, and a run that lasts for hours
/// is not to fail for less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How long one attempt may take; the API server itself ends requests that are no watches after 60 s at the latest. A connection that
/// broke without a word is noticed by nothing else.
const ATTEMPT: Duration = Duration::from_secs(30);

/// The longest wait that the API server is granted when it names one. It asks for seconds; more would be a mistake or malice.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Pages of one list: 100,000 nodes, twenty times the largest supported cluster. A server whose list never ends is broken.
const MAX_PAGES: usize = 1000;

/// How often a list is begun anew because its next page has expired.
const MAX_RESTARTS: usize = 3;

/// Characters of an answer that is no document of Kubernetes, for a message.
const MAX_TEXT: usize = 500;

/// An answer that is an error, and when the API server wants to be asked again.
#[derive(Debug)]
struct Refusal {
    error: ClusterError,
    retry_after: Option<Duration>,
}

/// Sends a request, again and again while that may help and `patience` lasts; `what` reads after «failed to».
pub(crate) async fn insist(
    cluster: &Cluster,
    what: &str,
    patience: Duration,
    request: &Request<Vec<u8>>,
) -> Result<Value, ClusterError> {
    let deadline = Instant::now() + patience;
    let pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(15))
        .with_jitter()
        .without_max_times();
    (|| attempt(cluster, what, request))
        .retry(pauses)
        .when(|refusal: &Refusal| refusal.error.is_transient())
        .adjust(|refusal: &Refusal, pause: Option<Duration>| {
            let pause = pause?.max(refusal.retry_after.unwrap_or_default());
            (Instant::now() + pause < deadline).then_some(pause)
        })
        .notify(|refusal: &Refusal, pause: Duration| {
            tracing::warn!("{}; trying again in {} ms", refusal.error, pause.as_millis());
        })
        .await
        .map_err(|refusal| refusal.error)
}

async fn attempt(cluster: &Cluster, what: &str, request: &Request<Vec<u8>>) -> Result<Value, Refusal> {
    match tokio::time::timeout(ATTEMPT, once(cluster, what, request)).await {
        Ok(answer) => answer,
        Err(_) => Err(Refusal {
            error: ClusterError::new(what, format!("the API server gave no answer within {} s", ATTEMPT.as_secs())),
            retry_after: None,
        }),
    }
}

async fn once(cluster: &Cluster, what: &str, request: &Request<Vec<u8>>) -> Result<Value, Refusal> {
    let failed = |error: kube::Error| Refusal { error: ClusterError::api(what, &error), retry_after: None };
    let mut copy = Request::new(Body::from(request.body().clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    // Not `Client::request`: it keeps the headers of a refusal to itself, and `Retry-After` is one.
    let (head, body) = cluster.client().send(copy).await.map_err(failed)?.into_parts();
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
    Err(Refusal { error: ClusterError::api(what, &kube::Error::Api(status.boxed())), retry_after })
}

fn retry_after(headers: &HeaderMap, status: &Status) -> Option<Duration> {
    let header = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let body = status.details.as_ref().map(|details| u64::from(details.retry_after_seconds)).filter(|&wait| wait > 0);
    header.or(body).map(|seconds: u64| Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// Which objects are listed, and what of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'a> {
    /// Reads after «failed to».
    pub(crate) what: &'a str,
    /// The collection's path.
    pub(crate) path: &'a str,
    /// Labels that the objects have.
    pub(crate) labels: Option<&'a str>,
    /// Objects for each page; all of a page are in memory at once.
    pub(crate) page: u32,
    /// Only the metadata: a pod is much larger than what is needed to delete it.
    pub(crate) metadata_only: bool,
    /// How long each page is asked for.
    pub(crate) patience: Duration,
}

/// What `read` makes of each object of a listing, page by page: as JSON, thousands of objects are hundreds of megabytes. A page that has
/// expired (the list took longer than the server remembers) begins the list anew.
pub(crate) async fn list<T>(
    cluster: &Cluster,
    listing: &Listing<'_>,
    read: impl Fn(Map<String, Value>) -> T,
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
        let request = request.map_err(|error| ClusterError::new(listing.what, error.to_string()))?;
        let page = match insist(cluster, listing.what, listing.patience, &request).await {
            Err(error) if error.code == Some(410) && begun && restarts < MAX_RESTARTS => {
                restarts += 1;
                objects.clear();
                continue;
            }
            page => page?,
        };
        let Value::Object(mut page) = page else {
            return Err(ClusterError::new(listing.what, "the API server's answer is not a list"));
        };
        if let Some(Value::Array(items)) = page.remove("items") {
            objects.extend(items.into_iter().filter_map(|item| match item {
                Value::Object(item) => Some(read(item)),
                _ => None,
            }));
        }
        let token = page.get("metadata").and_then(|metadata| metadata.get("continue")).and_then(Value::as_str);
        match token.filter(|token| !token.is_empty()) {
            None => return Ok(objects),
            Some(token) => next = Some(token.to_owned()),
        }
    }
    Err(ClusterError::new(listing.what, format!("the list has no end: {MAX_PAGES} pages were read")))
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
