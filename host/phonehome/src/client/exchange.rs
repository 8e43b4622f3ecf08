//! One request and its response, on a connection of its own.

use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;

use super::body::RequestBody;
use super::connect::Connector;
use super::error::{ClientError, TlsFailure};
use super::transfer::Transfer;

/// The maximum length of a response body in bytes. Responses are one line of text.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The size in bytes of a connection's buffer in each direction, for a piece of a file or the head
/// of a response.
const BUFFER_BYTES: usize = 64 << 10;

/// The time for closing a completed connection in an orderly way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The response of the aggregator.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Connector {
    /// Sends `request` and waits for the response, up to `answer` after the last byte. If the
    /// response comes before the whole body was sent, the rest is not sent.
    pub(super) async fn exchange(
        &self,
        request: Request<RequestBody>,
        transfer: &Arc<Transfer>,
        answer: Duration,
    ) -> Result<Reply, ClientError> {
        let (stream, address) = self.connect(transfer).await?;
        tokio::select! {
            reply = self.talk(TokioIo::new(stream), request, transfer) => {
                reply.map_err(|error| self.explain(error, address, transfer))
            }
            (stage, after) = transfer.stalled(self.timeouts.idle, answer) => {
                Err(ClientError::Timeout { endpoint: self.endpoint.authority.clone(), stage, after })
            }
        }
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
        Ok(Reply { status: head.status, headers: head.headers, body: body.freeze() })
    }

    /// Returns the cause of a connection error. It may be the file that could not be read, or the
    /// alert with which the server rejects the client's certificate. In TLS 1.3, that alert arrives
    /// after the handshake.
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
