//! Connections of the server. Each has its own TLS handshake and deadlines, and the number of those
//! with a certificate is limited.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use plumbline_core::ReceiveLimits;
use plumbline_phonehome::PeerIdentity;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::files;
use super::handshakes::{Handshake, Handshakes};
use super::receive::Receiver;
use super::router::router;
use super::shares::Shares;
use super::store::Store;
use crate::state::State;

/// How long open requests may take to finish when the run is over.
const GRACE: Duration = Duration::from_secs(10);
/// Timeout of a TLS handshake, unless the limit for request heads is shorter. A handshake takes
/// milliseconds.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Delay after a failure to accept, such as too many open files. Without it, the loop would use a
/// whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Error while starting the server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The server cannot listen on the address.
    #[error("failed to listen on `{address}`: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// The server of a run. Dropping it stops it too, without waiting for open requests.
pub struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Server {
    /// Listens on `address` and serves until [`Server::stop`]. Port 0 means any free port.
    ///
    /// # Errors
    /// When the server cannot listen on the address.
    pub async fn start(
        address: SocketAddr,
        tls: Arc<rustls::ServerConfig>,
        state: State,
        store: Store,
        limits: ReceiveLimits,
    ) -> Result<Self, ServerError> {
        let failed = |source| ServerError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        files::raise_limit();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let connection = Connection {
            acceptor: TlsAcceptor::from(tls),
            shares: Shares::new(state.clone(), limits.connections),
            router: router(Arc::new(Receiver::new(state, store, limits.clone()))),
            head: Duration::from_secs(limits.head_seconds),
            slots: Arc::new(Semaphore::new(limits.connections)),
            stop: stop.clone(),
        };
        tasks.spawn(accept(listener, connection, tasks.clone()));
        Ok(Self { address: bound, stop, tasks })
    }

    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections, gives open requests a short time to finish, and returns when
    /// all connections are closed.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        if timeout(GRACE, self.tasks.wait()).await.is_err() {
            tracing::warn!("{} connections did not end within {} s", self.tasks.len(), GRACE.as_secs());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Otherwise its tasks would still accept results for an abandoned run, and keep its journal
        // open.
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Connection {
    acceptor: TlsAcceptor,
    router: Router,
    head: Duration,
    /// Slots for connections that have presented a certificate.
    slots: Arc<Semaphore>,
    shares: Arc<Shares>,
    stop: CancellationToken,
}

async fn accept(listener: TcpListener, connection: Connection, tasks: TaskTracker) {
    let handshakes = Handshakes::default();
    loop {
        // Over the limit, new connections wait in the kernel's queue until one ends.
        let accepted = async {
            drop(connection.slots.acquire().await);
            let (stream, peer) = listener.accept().await?;
            Ok::<_, io::Error>((stream, peer, handshakes.enter(peer.ip()).await))
        };
        let accepted = tokio::select! {
            () = connection.stop.cancelled() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, peer, handshake)) => {
                tasks.spawn(connection.clone().serve(stream, peer, handshake));
            }
            Err(error) => {
                tracing::warn!("failed to accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

impl Connection {
    async fn serve(self, stream: TcpStream, peer: SocketAddr, handshake: Handshake) {
        // Send small responses immediately. If setting the option fails, they are only slower.
        let _ = stream.set_nodelay(true);
        let limit = self.head.min(HANDSHAKE);
        let accepted = tokio::select! {
            () = self.stop.cancelled() => return,
            () = handshake.ended() => return tracing::debug!("TLS handshake with {peer} made room for others"),
            accepted = timeout(limit, self.acceptor.accept(stream)) => accepted,
        };
        let tls = match accepted {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => return tracing::debug!("TLS handshake with {peer} failed: {error}"),
            Err(_) => return tracing::debug!("TLS handshake with {peer} took longer than {} s", limit.as_secs()),
        };
        let identity =
            tls.get_ref().1.peer_certificates().and_then(<[_]>::first).map(|c| PeerIdentity::from_certificate(c));
        let identity = match identity {
            Some(Ok(identity)) => Arc::new(identity),
            Some(Err(error)) => return tracing::warn!("certificate of {peer} names no plugin: {error}"),
            None => return tracing::warn!("{peer} came without a certificate"),
        };
        drop(handshake);
        let Some(_share) = self.shares.take(&identity) else {
            return tracing::debug!("connection of {peer} closed: its plugin holds its share of all connections");
        };
        // The semaphore is never closed. At most as many tasks wait as there were handshakes when
        // the last slot was taken.
        let Some(Ok(_slot)) = self.stop.run_until_cancelled(self.slots.acquire()).await else { return };
        let router = self.router.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(Arc::clone(&identity));
            request.extensions_mut().insert(peer);
            router.clone().call(request)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .serve_connection(TokioIo::new(tls), service);
        tokio::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!("connection of {peer}: {error}");
        }
    }
}
