//! Connects to a URL and creates a TLS session.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::config::{Endpoint, Timeouts};
use super::error::{ClientError, Stage, TlsFailure};
use super::transfer::{Transfer, Watched};

/// The maximum number of addresses to try per name, in the order of the resolver. An aggregator has
/// one, or one per IP family.
const MAX_ADDRESSES: usize = 8;

/// The state shared by all requests.
pub(super) struct Connector {
    pub(super) endpoint: Endpoint,
    pub(super) tls: TlsConnector,
    pub(super) timeouts: Timeouts,
}

impl Connector {
    /// Creates a TLS session with the aggregator, and returns it with the address of the server.
    pub(super) async fn connect(
        &self,
        transfer: &Arc<Transfer>,
    ) -> Result<(TlsStream<Watched>, SocketAddr), ClientError> {
        let (stream, address) = self.dial().await?;
        let watched = Watched::new(stream, Arc::clone(transfer));
        let handshake = self.tls.connect(self.endpoint.name.clone(), watched);
        match timeout(self.timeouts.tls, handshake).await {
            Ok(Ok(stream)) => Ok((stream, address)),
            Ok(Err(error)) => Err(self.tls_error(address, tls_failure(error))),
            Err(_) => Err(ClientError::Timeout {
                endpoint: self.endpoint.authority.clone(),
                stage: Stage::Handshake,
                after: self.timeouts.tls,
            }),
        }
    }

    pub(super) fn tls_error(&self, address: SocketAddr, source: TlsFailure) -> ClientError {
        ClientError::Tls { endpoint: self.endpoint.authority.clone(), address, source }
    }

    async fn dial(&self) -> Result<(TcpStream, SocketAddr), ClientError> {
        let mut attempts = Vec::new();
        for address in self.addresses().await? {
            let connected = timeout(self.timeouts.connect, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(timed_out("no answer", self.timeouts.connect))) {
                Ok(stream) => {
                    // Heads are small and wait for a response, so they must not wait for more
                    // bytes. Without TCP_NODELAY, requests are only slower.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!("no TCP_NODELAY: {error}");
                    }
                    return Ok((stream, address));
                }
                Err(error) => attempts.push((address, error)),
            }
        }
        Err(ClientError::Connect { endpoint: self.endpoint.authority.clone(), attempts })
    }

    async fn addresses(&self) -> Result<Vec<SocketAddr>, ClientError> {
        let endpoint = &self.endpoint;
        if let Some(address) = endpoint.address() {
            return Ok(vec![SocketAddr::new(address, endpoint.port)]);
        }
        let failed = |source| ClientError::Resolve { host: endpoint.host.clone(), source };
        let lookup = timeout(self.timeouts.connect, lookup_host((endpoint.host.as_str(), endpoint.port)));
        let found =
            lookup.await.unwrap_or_else(|_| Err(timed_out("the resolver did not answer", self.timeouts.connect)));
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in found.map_err(failed)? {
            if addresses.len() < MAX_ADDRESSES && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(failed(io::Error::new(io::ErrorKind::NotFound, "the name has no address")));
        }
        Ok(addresses)
    }
}

fn timed_out(what: &str, after: std::time::Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} within {after:?}"))
}

fn tls_failure(error: io::Error) -> TlsFailure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(protocol) => TlsFailure::Protocol(protocol.clone()),
        None => TlsFailure::Io(error),
    }
}
