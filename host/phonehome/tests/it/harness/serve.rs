//! Servers on loopback: one for HTTP, one whose bytes the test writes itself, and one without TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use plumbline_phonehome::{PeerIdentity, server_config};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::run::Run;

pub(crate) type Stream = TlsStream<TcpStream>;

/// The maximum length that [`read_head`] reads. Heads of this protocol have a few hundred bytes.
const HEAD_BYTES: usize = 16 << 10;

/// A server that stops when it is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Served {
    /// Returns the number of connections, including those with a failed handshake.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Accepts TCP connections and passes each to `script` with its number, counted from 0.
pub(crate) async fn serve_tcp<F, Script>(script: F) -> Served
where
    F: Fn(usize, TcpStream) -> Script + Send + Sync + 'static,
    Script: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(script(counter.fetch_add(1, Ordering::SeqCst), stream));
        }
    });
    Served { address, connections, task }
}

/// Accepts TLS connections and passes each to `script`. Connections with a failed handshake are
/// counted, but not passed on.
pub(crate) async fn serve_raw<F, Script>(run: &Run, script: F) -> Served
where
    F: Fn(usize, Stream) -> Script + Send + Sync + 'static,
    Script: Future<Output = ()> + Send + 'static,
{
    let acceptor = TlsAcceptor::from(Arc::new(server_config(&run.ca, &run.server).unwrap()));
    let script = Arc::new(script);
    serve_tcp(move |number, stream| {
        let (acceptor, script) = (acceptor.clone(), Arc::clone(&script));
        async move {
            if let Ok(stream) = acceptor.accept(stream).await {
                script(number, stream).await;
            }
        }
    })
    .await
}

/// Serves HTTP. `handler` receives the number of the connection, the request, and the identity of
/// the client.
pub(crate) async fn serve<F, Answer>(run: &Run, handler: F) -> Served
where
    F: Fn(usize, Request<Incoming>, PeerIdentity) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Response<Full<Bytes>>> + Send + 'static,
{
    let handler = Arc::new(handler);
    serve_raw(run, move |number, stream| {
        let identity = stream.get_ref().1.peer_certificates().and_then(<[_]>::first).unwrap();
        let identity = PeerIdentity::from_certificate(identity).unwrap();
        let handler = Arc::clone(&handler);
        async move {
            let service = service_fn(move |request| {
                let answer = handler(number, request, identity.clone());
                async move { Ok::<_, std::convert::Infallible>(answer.await) }
            });
            // The client reports how it ended.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        }
    })
    .await
}

/// Returns a response with a line of text.
pub(crate) fn answer(status: u16, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Reads the head of a request including its empty line, but nothing of the body.
pub(crate) async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Returns the number of bytes received until the peer closes the connection, orderly or not.
pub(crate) async fn read_until_end<S: AsyncRead + Unpin>(stream: &mut S) -> usize {
    let mut buffer = vec![0; 64 << 10];
    let mut total = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        total += read;
    }
    total
}
