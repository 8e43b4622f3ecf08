//! One request and its response, on a TLS connection of its own.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::body::{RequestBody, Transfer, Watched, watched};
use super::config::{Endpoint, Timeouts};
use super::error::{ClientError, Stage, TlsFailure};

/// The maximum length of a response body in bytes. Responses are one line of text.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The size in bytes of a connection's buffer in each direction.
const BUFFER_BYTES: usize = 64 << 10;

/// The time for closing a completed connection in an orderly way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of addresses to try per name. An aggregator has one per IP family.
const MAX_ADDRESSES: usize = 8;

/// The state shared by all requests.
pub(super) struct Connector {
    pub(super) endpoint: Endpoint,
    pub(super) tls: TlsConnector,
    pub(super) timeouts: Timeouts,
}

pub(super) type Reply = Response<Bytes>;

impl Connector {
    /// Sends `request` and waits for the response, up to `answer` after the last byte. After an
    /// early response, the rest of the body is not sent.
    pub(super) async fn exchange(
        &self,
        request: Request<RequestBody>,
        transfer: &Arc<Transfer>,
        answer: Duration,
    ) -> Result<Reply, ClientError> {
        let (stream, address) = self.connect(transfer).await?;
        let reply = Box::pin(self.talk(TokioIo::new(stream), request, transfer));
        match within(reply, transfer.stalled(self.timeouts.idle, answer)).await {
            Ok(reply) => reply.map_err(|error| self.explain(error, address, transfer)),
            Err((stage, after)) => {
                Err(ClientError::Timeout { endpoint: self.endpoint.authority.clone(), stage, after })
            }
        }
    }

    /// Creates a TLS session with the aggregator, and returns it with the address of the server.
    async fn connect(&self, transfer: &Arc<Transfer>) -> Result<(TlsStream<Watched>, SocketAddr), ClientError> {
        let (stream, address) = self.dial().await?;
        let watched = watched(stream, Arc::clone(transfer));
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

    fn tls_error(&self, address: SocketAddr, source: TlsFailure) -> ClientError {
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
        if let Ok(address) = endpoint.host.parse() {
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

    async fn talk<S>(&self, io: S, request: Request<RequestBody>, transfer: &Transfer) -> Result<Reply, hyper::Error>
    where
        S: hyper::rt::Read + hyper::rt::Write + Send + Unpin + 'static,
    {
        let (mut sender, connection) = http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(io).await?;
        let mut connection = pin!(connection);
        let mut open = true;

        let response = {
            let mut response = pin!(sender.send_request(request));
            loop {
                tokio::select! {
                    biased;
                    response = &mut response => break response?,
                    // The response shows how it ended.
                    _ = &mut connection, if open => open = false,
                }
            }
        };
        transfer.answered();

        let (head, mut incoming) = response.into_parts();
        let mut body = BytesMut::new();
        while body.len() < MAX_ANSWER_BYTES {
            let frame = tokio::select! {
                biased;
                frame = incoming.frame() => frame,
                _ = &mut connection, if open => {
                    open = false;
                    continue;
                }
            };
            // Only the status matters: an interrupted body is kept as far as it was received.
            let Some(Ok(frame)) = frame else { break };
            if let Some(data) = frame.data_ref() {
                body.extend(data.iter().take(MAX_ANSWER_BYTES - body.len()));
            }
        }

        transfer.finished();
        drop((sender, incoming));
        if open && transfer.is_complete() {
            // This gives the server an orderly end of TLS instead of one that looks like an attack.
            let _ = timeout(CLOSE_TIMEOUT, connection).await;
        }
        Ok(Reply::from_parts(head, body.freeze()))
    }

    /// Returns the cause of a connection error: a file that could not be read, or the server's
    /// alert about the certificate, which arrives after the handshake in TLS 1.3.
    fn explain(&self, error: hyper::Error, address: SocketAddr, transfer: &Transfer) -> ClientError {
        if let Some(failure) = transfer.take_failure() {
            return failure;
        }
        let mut cause: Option<&(dyn StdError + 'static)> = Some(&error);
        while let Some(current) = cause {
            let inner = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            if let Some(protocol) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return self.tls_error(address, TlsFailure::Protocol(protocol.clone()));
            }
            cause = current.source();
        }
        ClientError::Transport { endpoint: self.endpoint.authority.clone(), source: error }
    }
}

/// Returns the output of `work`, or that of `limit` as an error if it completes first.
async fn within<T, L>(work: impl Future<Output = T>, limit: impl Future<Output = L>) -> Result<T, L> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        over = limit => Err(over),
    }
}

fn timed_out(what: &str, after: Duration) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} within {after:?}"))
}

fn tls_failure(error: io::Error) -> TlsFailure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(protocol) => TlsFailure::Protocol(protocol.clone()),
        None => TlsFailure::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn a_response_counts_even_if_its_time_is_up() {
        for _ in 0..64 {
            assert_eq!(within(ready("the response"), ready(())).await, Ok("the response"));
        }
        assert_eq!(within(pending::<()>(), ready("too late")).await, Err("too late"));
    }
}
