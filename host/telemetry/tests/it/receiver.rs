//! A receiver of OTLP over HTTP: it keeps every message, and answers as a test wants. Other crates
//! use it for their tests too.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

#[allow(dead_code, reason = "not every test looks at all of it")]
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The message.
    pub(crate) json: Value,
    /// The size of the message in bytes.
    pub(crate) bytes: usize,
}

/// A receiver on a port of this machine.
#[derive(Clone)]
pub(crate) struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    answers: Mutex<VecDeque<(StatusCode, String)>>,
    messages: Mutex<Vec<Message>>,
}

impl Receiver {
    /// Starts a receiver. It answers with `answers`, and with success after that.
    pub(crate) async fn start(answers: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = answers.iter().map(|(code, text)| (StatusCode::from_u16(*code).unwrap(), (*text).to_owned()));
        let shared = Arc::new(Shared { answers: Mutex::new(answers.collect()), messages: Mutex::default() });
        let receiver = Self { address, shared };
        let accepting = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let receiver = accepting.clone();
                let service = hyper::service::service_fn(move |request| receiver.clone().take(request));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let json = serde_json::from_slice(&body).unwrap();
        let message = Message { path: head.uri.path().to_owned(), headers: head.headers, json, bytes: body.len() };
        self.shared.messages.lock().unwrap().push(message);
        let answer = self.shared.answers.lock().unwrap().pop_front();
        let (status, text) = answer.unwrap_or((StatusCode::OK, "{}".to_owned()));
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        Ok(response)
    }

    pub(crate) fn messages(&self, path: &str) -> Vec<Message> {
        self.shared.messages.lock().unwrap().iter().filter(|message| message.path == path).cloned().collect()
    }

    /// Returns all spans so far.
    pub(crate) fn spans(&self) -> Vec<Value> {
        let of =
            |message: Message| message.json["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap();
        self.messages("/v1/traces").into_iter().flat_map(of).collect()
    }
}
