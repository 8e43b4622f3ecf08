//! Test servers with arbitrary responses.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A request that a server received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path with the query.
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) agent: String,
    pub(crate) body: Vec<u8>,
}

/// A server that stops when this value is dropped.
pub(crate) struct Double {
    /// `127.0.0.1:PORT`.
    pub(crate) host: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Double {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Double {
    /// Returns all requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Starts a server that answers every request with `answer`, which receives the request, the
    /// server's host, and the number of previous requests.
    pub(crate) async fn start(answer: impl Fn(&Seen, &str, usize) -> Response + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (log, own) = (seen.clone(), host.clone());
        let handler = move |request: Request| {
            let (log, own, answer) = (log.clone(), own.clone(), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap().to_vec();
                let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
                let one = Seen {
                    method: parts.method.to_string(),
                    path: parts.uri.to_string(),
                    authorization: header("authorization"),
                    agent: header("user-agent").unwrap_or_default(),
                    body,
                };
                let before = {
                    let mut log = log.lock().unwrap();
                    log.push(one.clone());
                    log.len() - 1
                };
                answer(&one, &own, before)
            }
        };
        let router = Router::new().fallback(handler);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { host, seen, task }
    }

    /// Starts a server that answers each connection with the next of these byte strings and closes
    /// it. The last one is repeated.
    pub(crate) async fn raw(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            let mut at = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                let mut piece = [0; 4096];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut piece).await {
                        Ok(0) | Err(_) => break,
                        Ok(read) => head.extend_from_slice(&piece[..read]),
                    }
                }
                // The client may already have closed the connection.
                let _ = stream.write_all(&answers[at.min(answers.len() - 1)]).await;
                let _ = stream.shutdown().await;
                at += 1;
            }
        });
        Self { host, seen: Arc::default(), task }
    }
}

/// Returns a response with headers.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

/// A body that never ends.
pub(crate) fn endless() -> Body {
    Body::from_stream(futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 64 << 10])))
}

/// A body that never starts.
pub(crate) fn silent() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>())
}
