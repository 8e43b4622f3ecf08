//! A proxy that counts the aggregator's requests to the API server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use crate::Result;
use crate::api::kubeconfig;
use crate::simulation::kind_of;

/// Maximum size of a request in bytes. No request of an aggregator is larger.
const MAX_REQUEST: usize = 16 << 20;

/// Counts of one kind of request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of requests.
    pub requests: u64,
    /// Number of requests with an error response.
    pub refused: u64,
    /// Total size of the request bodies in bytes.
    pub sent: u64,
    /// Total size of the decompressed response bodies in bytes.
    pub received: u64,
}

/// Counts by verb and resource, such as `patch pods`.
pub type Requests = BTreeMap<String, Counted>;

type Shared = Arc<Mutex<Requests>>;

pub(super) struct Proxy {
    address: String,
    requests: Shared,
    serving: AbortHandle,
}

impl Proxy {
    /// Starts a proxy on loopback, without TLS, which forwards requests with `client`.
    pub(super) async fn start(client: Client) -> Result<Self> {
        let requests = Shared::default();
        let app = Router::new().fallback(forward).with_state((client, Arc::clone(&requests)));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(async move { axum::serve(listener, app).await }).abort_handle();
        Ok(Self { address, requests, serving })
    }

    pub(super) fn kubeconfig(&self) -> String {
        kubeconfig(&self.address)
    }

    pub(super) fn requests(&self) -> Requests {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn forward(State((client, requests)): State<(Client, Shared)>, request: Request) -> Response {
    match ask(&client, &requests, request).await {
        Ok(answer) => answer,
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

async fn ask(client: &Client, requests: &Shared, request: Request) -> Result<Response> {
    let (mut head, body) = request.into_parts();
    let kind = kind_of(head.method.as_str(), head.uri.path(), head.uri.query().unwrap_or_default());
    let body = to_bytes(body, MAX_REQUEST).await?;
    head.headers.remove(header::HOST);
    let count = |change: &dyn Fn(&mut Counted)| {
        change(requests.lock().unwrap_or_else(PoisonError::into_inner).entry(kind.clone()).or_default());
    };
    count(&|counted| {
        counted.requests += 1;
        counted.sent += body.len() as u64;
    });
    let (mut head, body) = client.send(http::Request::from_parts(head, body.clone().into())).await?.into_parts();
    if head.status.is_client_error() || head.status.is_server_error() {
        count(&|counted| counted.refused += 1);
    }
    // The body is decompressed, and has another length.
    for name in [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    let (requests, kind) = (Arc::clone(requests), kind.clone());
    let counted = body.map_frame(move |frame| {
        let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
        requests.lock().unwrap_or_else(PoisonError::into_inner).entry(kind.clone()).or_default().received += bytes;
        frame
    });
    Ok(Response::from_parts(head, Body::new(counted)))
}
