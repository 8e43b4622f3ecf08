//! Asking the API server until it answers: requests as plain JSON, repeated while that may help, for a bounded time.

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

/// How long a request is repeated: an API server that is restarted or moved is back within this time, and a run that lasts for hours
/// is not to fail for less.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How long one attempt may take; the API server itself ends requests that are no watches after 60 s at the latest. A connection that
/// broke without a word is noticed by nothing else.
const ATTEMPT: Duration = Duration::from_secs(30);

/// Pages of one list: 100,000 nodes, twenty times the largest supported cluster. A server whose list never ends is broken.
const MAX_PAGES: usize = 1000;

/// How often a list is begun anew because its next page has expired.
const MAX_RESTARTS: usize = 3;

/// Sends a request, again and again while that may help and `patience` lasts; `what` reads after «failed to».
pub(crate) async fn insist(
    cluster: &Cluster,
    what: &str,
    patience: Duration,
    request: &Request<Vec<u8>>,
) -> Result<Value, ClusterError> {
    let deadline = Instant::now() + patience;
    (|| attempt(cluster, what, request))
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

/// Repeats `act`, which sends several requests, while that may help and `patience` lasts. A conflict is a reason to begin it again.
pub(crate) async fn insist_on<T, F: Future<Output = Result<T, ClusterError>>>(
    patience: Duration,
    act: impl FnMut() -> F,
) -> Result<T, ClusterError> {
    let deadline = Instant::now() + patience;
    act.retry(pauses())
        .when(|error: &ClusterError| error.is_transient() || error.is_conflict())
        .adjust(|_, pause: Option<Duration>| pause.filter(|pause| Instant::now() + *pause < deadline))
        .notify(|error: &ClusterError, pause: Duration| {
            tracing::warn!("{error}; trying again in {} ms", pause.as_millis());
        })
        .await
}

fn pauses() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(Duration::from_secs(15))
        .with_jitter()
        .without_max_times()
}

async fn attempt(cluster: &Cluster, what: &str, request: &Request<Vec<u8>>) -> Result<Value, Refusal> {
    match tokio::time::timeout(ATTEMPT, once(cluster, what, request)).await {
        Ok(answer) => answer,
        Err(_) => {
            let cause = format!("the API server gave no answer within {} s", ATTEMPT.as_secs());
            Err(Refusal::of(ClusterError::new(what, cause)))
        }
    }
}

async fn once(cluster: &Cluster, what: &str, request: &Request<Vec<u8>>) -> Result<Value, Refusal> {
    let mut copy = Request::new(Body::from(request.body().clone()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    ask(cluster, what, copy).await
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
