//! Serves metrics over HTTP, without authentication and without anything secret.
//!
//! Everything is bounded: the number of connections, the time of each, and how often the metrics
//! are computed. A client sends one request for each connection.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::metric::Family;
use crate::text::{TextFormat, write_text};

const PATH: &str = "/metrics";
/// Maximum number of connections. Further ones wait in the kernel's queue.
const CONNECTIONS: usize = 16;
/// Maximum time of a connection, from its start to its end.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum time for the head of a request.
const HEAD: Duration = Duration::from_secs(5);
/// How long a text is used again, so that many clients do not cause many computations.
const FRESH: Duration = Duration::from_secs(1);
/// Delay after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Returns the metrics of this moment.
pub type Source = Arc<dyn Fn() -> Vec<Family> + Send + Sync>;

/// Error while starting an [`Endpoint`].
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The endpoint cannot listen on the address.
    #[error("failed to listen on `{address}` for metrics: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// A server of metrics. Dropping it stops it.
pub struct Endpoint {
    address: SocketAddr,
    _stop: DropGuard,
}

/// An address for an [`Endpoint`], which nothing else can take any more.
pub struct BoundAddress {
    listener: TcpListener,
    address: SocketAddr,
}

impl BoundAddress {
    /// Listens on `address`. Port 0 means any free port. Must be called within a Tokio runtime.
    pub async fn bind(address: SocketAddr) -> Result<Self, EndpointError> {
        let failed = |source| EndpointError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }
}

impl Endpoint {
    /// Serves the metrics of `source`. Must be called within a Tokio runtime.
    pub fn start(bound: BoundAddress, source: Source) -> Self {
        let stop = CancellationToken::new();
        let page = Arc::new(Page { source, last: Mutex::new(None) });
        let accepting = accept(bound.listener, page, stop.clone());
        tokio::spawn(stop.clone().run_until_cancelled_owned(accepting));
        Self { address: bound.address, _stop: stop.drop_guard() }
    }

    /// Returns the address that the endpoint listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The families, as they were computed last.
struct Page {
    source: Source,
    last: Mutex<Option<(Instant, Arc<Vec<Family>>)>>,
}

impl Page {
    fn families(&self) -> Arc<Vec<Family>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((at, families)) if at.elapsed() < FRESH => Arc::clone(families),
            _ => {
                let families = Arc::new((self.source)());
                *last = Some((Instant::now(), Arc::clone(&families)));
                families
            }
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let plain = |status: StatusCode, text: &'static str| {
            let mut response = Response::new(Full::from(text));
            *response.status_mut() = status;
            response
        };
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n");
        }
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "metrics are only read\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let format = TextFormat::accepted(accept);
        let mut response = Response::new(Full::from(write_text(&self.families(), format)));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
        response
    }
}

async fn accept(listener: TcpListener, page: Arc<Page>, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (page, stop) = (Arc::clone(&page), stop.clone());
                tokio::spawn(async move {
                    let served = stop.run_until_cancelled(timeout(LIMIT, serve(stream, page))).await;
                    if let Some(Ok(Err(error))) = served {
                        tracing::debug!("metrics for {peer}: {error}");
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::debug!("failed to accept a connection for metrics: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, page: Arc<Page>) -> hyper::Result<()> {
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { Ok::<_, Infallible>(page.answer(&request)) }
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await
}
