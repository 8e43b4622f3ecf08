//! Sends requests to the API server as plain JSON, with retries for a limited time.
//!
//! The retry layer of the `kube` crate is no substitute: it gives up after a number of attempts,
//! not after a time, and retries neither lost connections nor other server errors than 503 and 504.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};
use http::Request;
use kube::api::ListParams;
use kube::client::Body;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::ask::{Refusal, ask};
use crate::cluster::Cluster;
use crate::error::ClusterError;

/// How long a request is retried. An API server that restarts or moves is back within this time,
/// and a run of several hours must not fail because of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Timeout of one attempt. The API server ends requests other than watches after at most 60 s. Only
/// this timeout detects a connection that broke silently.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Maximum number of pages of one list: 100,000 nodes, twenty times the largest supported cluster.
/// A server whose list never ends is broken.
const MAX_PAGES: usize = 1000;

/// How often a list is restarted because its next page has expired.
const MAX_RESTARTS: usize = 3;

/// Sends a request, and retries while that may help, for at most `patience`. `what` completes the
/// message "failed to …".
pub(crate) async fn send_with_retry(
    cluster: &Cluster,
    what: &str,
    patience: Duration,
    request: Result<Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Value, ClusterError> {
    let request = request.map_err(|error| ClusterError::new(what, error.to_string()))?;
    let deadline = Instant::now() + patience;
    (|| attempt(cluster, what, &request))
        .retry(pauses())
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

/// Runs `act`, which sends several requests, and retries while that may help, for at most
/// `patience`. A conflict also restarts it.
pub(crate) async fn retry_until<T, F: Future<Output = Result<T, ClusterError>>>(
    patience: Duration,
    mut act: impl FnMut() -> F,
) -> Result<T, ClusterError> {
    let act = || {
        let attempt = act();
        async { attempt.await.map_err(Refusal::of) }
    };
    retry_while(patience, |error, _| error.is_transient() || error.is_conflict(), act).await
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
    act.retry(pauses())
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

fn pauses() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(15))
        .with_jitter()
        .without_max_times()
}

async fn attempt(cluster: &Cluster, what: &str, request: &Request<Vec<u8>>) -> Result<Value, Refusal> {
    let (head, body) = request.clone().into_parts();
    let request = Request::from_parts(head, Body::from(body));
    tokio::time::timeout(ATTEMPT, ask(cluster, what, request)).await.unwrap_or_else(|_| {
        let cause = format!("the API server gave no answer within {} s", ATTEMPT.as_secs());
        Err(Refusal::of(ClusterError::new(what, cause)))
    })
}

/// Selects the objects to list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing<'a> {
    /// The operation, which completes the message "failed to …".
    pub(crate) what: &'a str,
    /// The path of the collection.
    pub(crate) path: &'a str,
    /// A label selector.
    pub(crate) labels: Option<&'a str>,
    /// Objects per page. All objects of one page are in memory at once.
    pub(crate) page: u32,
    /// Whether to request only metadata. A pod is much larger than what is needed to delete it.
    pub(crate) metadata_only: bool,
    /// How long each page is retried.
    pub(crate) patience: Duration,
}

/// Lists objects page by page, and returns the result of `read` for each.
///
/// Thousands of objects would be hundreds of megabytes as JSON. If a page has expired, because the
/// list took longer than the server keeps it, the list is restarted.
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
        let page = match send_with_retry(cluster, listing.what, listing.patience, request).await {
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
    Err(ClusterError::new(listing.what, format!("the list has more than {MAX_PAGES} pages")))
}
