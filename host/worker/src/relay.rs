//! The progress relay (docs/protocol.md, "Progress"). Plugins post their progress to a port on
//! loopback, and the worker, which has the certificate, forwards it.
//!
//! Updates are forwarded one at a time, unchanged, in the order in which their bodies were
//! complete. Each gets the aggregator's own response. An update may add to earlier ones, so none
//! may be lost, duplicated or reordered. While the aggregator is slow, posts wait. At most
//! [`MAX_CONNECTIONS`] connections are accepted, which bounds their number. If tests are counted in
//! the plugin's log, updates are not forwarded, but become part of the worker's own reports.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use plumbline_core::ResultKey;
use plumbline_phonehome::Client;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::chain;
use crate::progress::{Posted, PostedUpdates};

/// Maximum size of a progress update in bytes: 1 MiB, the limit of aggregators.
pub const MAX_PROGRESS_BYTES: usize = 1 << 20;

/// Maximum number of concurrent connections. A plugin needs one.
pub const MAX_CONNECTIONS: usize = 16;

/// Timeout for the head of a request, which comes over loopback.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a body, which comes over loopback.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Timeout for forwarding one update. Afterwards the next one is forwarded.
const FORWARD_TIMEOUT: Duration = Duration::from_secs(30);

/// Buffer size of a connection: 16 KiB. The head of a request must fit.
const CONNECTION_BUFFER: usize = 16 << 10;

/// Delay after a failed accept, for example because of a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Error because none of the addresses could be bound.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen for progress updates on {address}")]
pub struct BindError {
    /// The last address that was tried.
    pub address: SocketAddr,
    /// The underlying I/O error.
    pub source: io::Error,
}

/// A relay that listens, but does not respond yet.
#[derive(Debug)]
pub struct Relay {
    listeners: Vec<TcpListener>,
    port: u16,
    posts: PostedUpdates,
}

impl Relay {
    /// Binds this port on each of these addresses.
    ///
    /// Unavailable addresses are skipped. Port 0 selects a free port, the same on all if possible.
    ///
    /// # Errors
    /// Returns [`BindError`] if no address is available.
    pub async fn bind(addresses: &[IpAddr], port: u16) -> Result<Self, BindError> {
        let mut relay = Self { listeners: Vec::new(), port, posts: PostedUpdates::default() };
        let mut last = None;
        for &address in addresses {
            let address = SocketAddr::new(address, relay.port);
            match listen(address).await {
                Ok((listener, port)) => {
                    relay.port = port;
                    relay.listeners.push(listener);
                }
                Err(source) => {
                    tracing::debug!(%address, error = %source, "failed to listen for progress updates here");
                    last = Some(BindError { address, source });
                }
            }
        }
        match last {
            Some(error) if relay.listeners.is_empty() => Err(error),
            _ => Ok(relay),
        }
    }

    /// Returns the port. If the system chose it, pass it to the plugin.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the updates of the plugin, for a log watch.
    pub(crate) fn posts(&self) -> PostedUpdates {
        self.posts.clone()
    }

    /// Forwards updates of `key` until `stop` is cancelled. Updates in progress are then dropped.
    pub async fn serve(self, client: Client, key: ResultKey, stop: CancellationToken) {
        let seats = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let forward = Arc::new(Forward { client, key, seats, posts: self.posts });
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            accepting.spawn(accept(listener, Arc::clone(&forward)));
        }
        stop.cancelled().await;
        accepting.shutdown().await;
    }
}

async fn listen(address: SocketAddr) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(address).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Accepts connections until dropped. Open connections are dropped with it.
async fn accept(listener: TcpListener, forward: Arc<Forward>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok(seat) = Arc::clone(&forward.seats).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let forward = Arc::clone(&forward);
                connections.spawn(async move {
                    serve_connection(stream, forward).await;
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "failed to accept a connection of the progress relay");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, forward: Arc<Forward>) {
    let service = service_fn(move |request| {
        let forward = Arc::clone(&forward);
        async move { Ok::<_, std::convert::Infallible>(forward.answer(request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(CONNECTION_BUFFER)
        // Each connection carries one update, because an idle one would hold a permit.
        .keep_alive(false)
        // `printf … | nc` closes its side after the request, and still waits for the response.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection of the progress relay failed");
    }
}

struct Forward {
    client: Client,
    key: ResultKey,
    seats: Arc<Semaphore>,
    posts: PostedUpdates,
}

impl Forward {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path().trim_end_matches('/') != "/progress" {
            return text(StatusCode::NOT_FOUND, "not found: progress updates go to `/progress`".to_owned());
        }
        let too_large = || {
            let message = format!("the update has more than {MAX_PROGRESS_BYTES} bytes");
            text(StatusCode::PAYLOAD_TOO_LARGE, message)
        };
        if request.body().size_hint().lower() > MAX_PROGRESS_BYTES as u64 {
            return too_large();
        }
        let body = Limited::new(request.into_body(), MAX_PROGRESS_BYTES).collect();
        let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return too_large(),
            Ok(Err(error)) => return text(StatusCode::BAD_REQUEST, format!("failed to read the body: {error}")),
            Err(_) => return text(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned()),
        };

        let _turn = self.posts.turn().await;
        match self.posts.take(&body) {
            Posted::PassOn => {}
            Posted::Kept => return plain(StatusCode::OK, Bytes::new()),
            Posted::Invalid(error) => return text(StatusCode::BAD_REQUEST, error.to_string()),
        }
        match tokio::time::timeout(FORWARD_TIMEOUT, self.client.post_progress(&self.key, body)).await {
            Ok(Ok(answer)) => {
                tracing::debug!(status = answer.status.as_u16(), "forwarded a progress update");
                plain(answer.status, answer.body)
            }
            Ok(Err(error)) => {
                let error = chain(&error);
                tracing::warn!(%error, "failed to forward a progress update");
                text(StatusCode::INTERNAL_SERVER_ERROR, format!("failed to forward the update: {error}"))
            }
            Err(_) => {
                tracing::warn!("failed to forward a progress update: no answer within {FORWARD_TIMEOUT:?}");
                let message = format!("failed to forward the update: no answer within {FORWARD_TIMEOUT:?}");
                text(StatusCode::INTERNAL_SERVER_ERROR, message)
            }
        }
    }
}

fn text(status: StatusCode, mut message: String) -> Response<Full<Bytes>> {
    message.push('\n');
    plain(status, Bytes::from(message))
}

fn plain(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let content_type = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    response
}
