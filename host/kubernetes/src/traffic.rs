//! Measures the requests of the client to the API server.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{Request, Response};
use kube::client::Body;
use plumbline_core::timeline::ApiRequests;
use plumbline_telemetry::{Family, Point};
use tower_layer::Layer;
use tower_service::Service;

/// The longest time until the head of a response that is normal.
const SLOW: Duration = Duration::from_secs(1);

/// The error of a request without a response.
const NO_RESPONSE: &str = "no-response";

/// The label of such requests in the metric.
const NO_CODE: &str = "none";

/// Counts the requests of a client. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    /// Since the last report of trouble.
    recent: ApiRequests,
    /// All requests so far, by status code.
    by_code: BTreeMap<Option<u16>, u64>,
}

impl Traffic {
    /// Returns the counts since the last call, if requests failed or were slow.
    pub(crate) fn take_trouble(&self) -> Option<ApiRequests> {
        let taken = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).recent);
        let is_slow = Duration::from_millis(taken.slowest_ms) >= SLOW;
        (is_slow || !taken.errors.is_empty()).then_some(taken)
    }

    /// Returns all requests so far as a metric.
    pub(crate) fn family(&self) -> Family {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let points = counts.by_code.iter().map(|(code, n)| {
            let code = code.map_or_else(|| NO_CODE.to_owned(), |code| code.to_string());
            Point::new([("code", code.as_str())], *n as f64)
        });
        Family::counter(
            "plumbline_kubernetes_requests",
            "Requests to the API server, by status code; `none`: without a response.",
            points,
        )
    }

    fn add(&self, code: Option<u16>, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.by_code.entry(code).or_default() += 1;
        let counts = &mut counts.recent;
        counts.requests = counts.requests.saturating_add(1);
        counts.slowest_ms = counts.slowest_ms.max(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let error = match code {
            None => NO_RESPONSE.to_owned(),
            // Other codes are answers that a client expects: not found, conflict, forbidden, expired.
            Some(code @ (408 | 429 | 500..)) => code.to_string(),
            Some(_) => return,
        };
        let count = counts.errors.entry(error).or_default();
        *count = count.saturating_add(1);
    }
}

impl<S> Layer<S> for Traffic {
    type Service = Measured<S>;

    fn layer(&self, inner: S) -> Measured<S> {
        Measured { inner, traffic: self.clone() }
    }
}

/// A service whose requests are measured.
pub(crate) struct Measured<S> {
    inner: S,
    traffic: Traffic,
}

impl<S, B> Service<Request<Body>> for Measured<S>
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
        let mut measurement = Measurement { traffic: self.traffic.clone(), start: Instant::now(), is_open: true };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            measurement.end(answer.as_ref().ok().map(|response| response.status().as_u16()));
            answer
        })
    }
}

struct Measurement {
    traffic: Traffic,
    start: Instant,
    is_open: bool,
}

impl Measurement {
    fn end(&mut self, code: Option<u16>) {
        self.is_open = false;
        self.traffic.add(code, self.start.elapsed());
    }
}

/// A caller that lost patience drops its request. One that is dropped at once, as at the end of a
/// run, says nothing.
impl Drop for Measurement {
    fn drop(&mut self) {
        if self.is_open && self.start.elapsed() >= SLOW {
            self.end(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slow_or_failed_requests_are_reported() {
        let traffic = Traffic::default();
        for code in [200, 201, 403, 404, 409, 410, 422] {
            traffic.add(Some(code), Duration::from_millis(10));
        }
        assert_eq!(traffic.take_trouble(), None);
        traffic.add(Some(200), Duration::from_millis(1500));
        assert_eq!(traffic.take_trouble().unwrap().slowest_ms, 1500);
        for code in [None, Some(503), Some(503), Some(429), Some(200)] {
            traffic.add(code, Duration::from_millis(20));
        }
        let trouble = traffic.take_trouble().unwrap();
        let errors: Vec<_> = trouble.errors.iter().map(|(code, count)| format!("{code} ×{count}")).collect();
        assert_eq!((trouble.requests, errors.join(", ").as_str()), (5, "429 ×1, 503 ×2, no-response ×1"));
        assert_eq!(traffic.take_trouble(), None);
    }
}
