//! Counts the requests to the API server, by the status code of their responses.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::{Request, Response};
use kube::client::Body;
use plumbline_telemetry::{Family, Point};
use tower_layer::Layer;
use tower_service::Service;

/// Label of requests without a response.
const NO_RESPONSE: &str = "none";

/// The responses of one client so far. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestCounts(Arc<Mutex<BTreeMap<Option<u16>, u64>>>);

impl RequestCounts {
    fn add(&self, code: Option<u16>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(code).or_default() += 1;
    }

    /// Returns the counts as a metric.
    pub(crate) fn family(&self) -> Family {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let points = counts.iter().map(|(code, n)| {
            let code = code.map_or_else(|| NO_RESPONSE.to_owned(), |code| code.to_string());
            Point::new([("code", code.as_str())], *n as f64)
        });
        Family::counter(
            "plumbline_kubernetes_requests",
            "Requests to the API server, by status code; `none` is no response.",
            points,
        )
    }
}

impl<S> Layer<S> for RequestCounts {
    type Service = Counted<S>;
    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, counts: self.clone() }
    }
}

/// A service whose responses are counted.
#[derive(Debug, Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    counts: RequestCounts,
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (response, counts) = (self.inner.call(request), self.counts.clone());
        Box::pin(async move {
            let response = response.await;
            counts.add(response.as_ref().ok().map(|response| response.status().as_u16()));
            response
        })
    }
}
