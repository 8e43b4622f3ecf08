//! Connections of the server.
//!
//! Each has its own TLS handshake and deadlines. Those that have not presented a certificate yet are
//! separate from those of workers, so that peers without a certificate cannot keep workers out. The
//! number of connections with a certificate is limited, also for each plugin, so that one plugin
//! cannot keep the workers of another one out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use plumbline_core::ReceiveLimits;
use plumbline_core::limits::HEAD_BYTES;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::heads::{CountedStream, HEAD_MEMORY, Head};
use super::identities::Identities;
use super::receive::Receiver;
use super::router::handle;
use super::shares::Shares;
use super::store::Store;
use crate::state::State;

/// How long open requests may take to finish when the run is over.
const GRACE: Duration = Duration::from_secs(10);
/// Timeout of a TLS handshake, unless that of request heads is shorter.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Delay after a failure to accept, such as too many open files. Without it, the loop would use a
/// whole core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Number of concurrent handshakes of one address, with all pods of a node behind it, before the
/// oldest one may be closed.
const OF_ONE_PEER: usize = 256;
/// Maximum number of concurrent handshakes. Further connections wait in the kernel's queue.
const AT_ONCE: usize = 1024;
/// Minimum time for every handshake, even over the limit.
const UNDISTURBED: Duration = Duration::from_millis(250);

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
        raise_file_limit();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let connection = Connection {
            acceptor: TlsAcceptor::from(tls),
            identities: Arc::default(),
            shares: Shares::new(state.clone(), limits.connections),
            heads: Shares::new(state.clone(), HEAD_MEMORY),
            receiver: Arc::new(Receiver::new(state, store, limits.clone())),
            head: Duration::from_secs(limits.head_seconds),
            slots: Arc::new(Semaphore::new(limits.connections)),
            stop: stop.clone(),
        };
        tasks.spawn(accept(listener, connection, tasks.clone()));
        Ok(Self { address: bound, stop, tasks })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops accepting connections, and returns when all are closed, after a short time.
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
        // Its tasks would accept results for an abandoned run, and keep its journal open.
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Connection {
    acceptor: TlsAcceptor,
    identities: Arc<Identities>,
    receiver: Arc<Receiver>,
    head: Duration,
    /// Slots for connections that have presented a certificate.
    slots: Arc<Semaphore>,
    shares: Arc<Shares>,
    /// Memory for long heads.
    heads: Arc<Shares>,
    stop: CancellationToken,
}

async fn accept(listener: TcpListener, connection: Connection, tasks: TaskTracker) {
    let handshakes = Arc::new(Handshakes::default());
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
            () = handshake.end.cancelled() => return tracing::debug!("TLS handshake with {peer} made room for others"),
            accepted = timeout(limit, self.acceptor.accept(stream)) => accepted,
        };
        let tls = match accepted {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => return tracing::debug!("TLS handshake with {peer} failed: {error}"),
            Err(_) => return tracing::debug!("TLS handshake with {peer} took longer than {} s", limit.as_secs()),
        };
        let certificate = tls.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let identity = match certificate.map(|certificate| self.identities.of(certificate)) {
            Some(Ok(identity)) => identity,
            Some(Err(error)) => return tracing::warn!("certificate of {peer} has no valid plugin name: {error}"),
            None => return tracing::warn!("{peer} sent no certificate"),
        };
        drop(handshake);
        let plugin = identity.plugins().first().map(ToString::to_string).unwrap_or_default();
        let mut share = self.shares.of(&plugin);
        // A single plugin competes with nobody, and waits for its own connections.
        if !share.grow(1) && self.shares.plugins() > 1 {
            return tracing::debug!("connection of {peer} closed: its plugin has reached its share of all connections");
        }
        // The semaphore is never closed. Only connections that had a handshake wait here.
        let Some(Ok(_slot)) = self.stop.run_until_cancelled(self.slots.acquire()).await else { return };
        let receiver = Arc::clone(&self.receiver);
        let head = Head::new(self.heads.of(&plugin));
        let stream = CountedStream::new(tls, head.clone());
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let (receiver, identity, head) = (Arc::clone(&receiver), Arc::clone(&identity), head.clone());
            let request = head.complete(request).map(Body::new);
            // On the heap, so that an idle connection stays small.
            Box::pin(async move {
                let response = handle(&receiver, &identity, request).await;
                head.answered();
                Ok::<_, Infallible>(response)
            })
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head)
            .max_buf_size(HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
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

/// Raises the limit on open files to the maximum of this process. The usual 1,024 would allow about
/// 500 concurrent uploads.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let before = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!("the limit on open files stays at {before:?}: {error}");
    }
}

/// The current handshakes. If there are too many, the oldest one is closed: first of a peer with
/// too many, then of all peers.
#[derive(Default)]
struct Handshakes {
    queue: Mutex<HandshakeQueue>,
    /// Notifies when a handshake has ended.
    left: Notify,
}

#[derive(Default)]
struct HandshakeQueue {
    /// Entries, oldest first.
    entries: VecDeque<Entry>,
    next: u64,
}

struct Entry {
    number: u64,
    peer: IpAddr,
    since: Instant,
    end: CancellationToken,
}

impl Entry {
    fn is_old(&self, now: Instant) -> bool {
        now.duration_since(self.since) >= UNDISTURBED
    }
}

/// A slot for a handshake, released when it is dropped.
struct Handshake {
    handshakes: Arc<Handshakes>,
    number: u64,
    end: CancellationToken,
}

impl Handshakes {
    /// Waits for a slot for a new connection of `peer`.
    async fn enter(self: &Arc<Self>, peer: IpAddr) -> Handshake {
        loop {
            let left = self.left.notified();
            match self.try_enter(peer.to_canonical(), Instant::now()) {
                Ok(handshake) => return handshake,
                Err(until) => tokio::select! {
                    () = left => {}
                    () = tokio::time::sleep_until(until) => {}
                },
            }
        }
    }

    /// Returns a slot, or the time at which the oldest handshake may be closed.
    fn try_enter(self: &Arc<Self>, peer: IpAddr, now: Instant) -> Result<Handshake, Instant> {
        let mut queue = self.queue.lock();
        let of_peer = queue.entries.iter().filter(|entry| entry.peer == peer).count();
        if of_peer >= OF_ONE_PEER
            && let Some(at) = queue.entries.iter().position(|entry| entry.peer == peer && entry.is_old(now))
            && let Some(entry) = queue.entries.remove(at)
        {
            entry.end.cancel();
        }
        if queue.entries.len() >= AT_ONCE
            && let Some(oldest) = queue.entries.front()
        {
            if !oldest.is_old(now) {
                return Err(oldest.since + UNDISTURBED);
            }
            oldest.end.cancel();
            queue.entries.pop_front();
        }
        let number = queue.next;
        queue.next += 1;
        let end = CancellationToken::new();
        queue.entries.push_back(Entry { number, peer, since: now, end: end.clone() });
        drop(queue);
        Ok(Handshake { handshakes: Arc::clone(self), number, end })
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.handshakes.queue.lock().entries.retain(|entry| entry.number != self.number);
        self.handshakes.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[tokio::test]
    async fn a_peer_with_too_many_loses_its_oldest_and_others_lose_none() {
        let handshakes = Arc::new(Handshakes::default());
        let start = Instant::now();
        let other = handshakes.try_enter(peer(2), start).unwrap();
        let flood: Vec<_> = (0..OF_ONE_PEER).map(|_| handshakes.try_enter(peer(1), start).unwrap()).collect();
        let later = start + UNDISTURBED;
        let _new = handshakes.try_enter(peer(1), later).unwrap();
        assert!(flood[0].end.is_cancelled() && !flood[1].end.is_cancelled());
        assert!(!other.end.is_cancelled(), "although it is older");
    }

    #[tokio::test]
    async fn young_handshakes_are_not_disturbed_and_old_ones_make_room() {
        let handshakes = Arc::new(Handshakes::default());
        let start = Instant::now();
        let mut all: VecDeque<_> =
            (0..AT_ONCE).map(|n| handshakes.try_enter(peer((n % 200) as u8), start).unwrap()).collect();
        assert_eq!(handshakes.try_enter(peer(250), start).err(), Some(start + UNDISTURBED));
        let _new = handshakes.try_enter(peer(250), start + UNDISTURBED).unwrap();
        assert!(all[0].end.is_cancelled());
        drop(all.pop_back());
        assert!(handshakes.try_enter(peer(251), start).is_ok(), "one has ended by itself");
    }
}
