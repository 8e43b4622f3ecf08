//! A proxy in front of the cluster's API server that rejects, delays, loses and interrupts
//! requests.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

use crate::bed::Bed;

/// One of this many requests meets a fault.
const EVERY: u32 = 4;
/// Maximum delay of a response, and maximum lifetime of a watch.
const SLOW: Duration = Duration::from_secs(4);
const WATCH: Duration = Duration::from_secs(8);

type Error = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, Error>>;

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// The request is rejected with this code and reason.
    Status(u16, &'static str),
    /// The connection is closed before the request is forwarded.
    Reset,
    /// The request is forwarded, and the connection is closed without a response.
    LostAnswer,
    /// The request is forwarded after a delay.
    Slow,
    /// A watch gets an error that its version has expired.
    Expired,
}

const FAULTS: [Fault; 7] = [
    Fault::Status(429, "TooManyRequests"),
    Fault::Status(500, "InternalError"),
    Fault::Status(503, "ServiceUnavailable"),
    Fault::Status(409, "Conflict"),
    Fault::Reset,
    Fault::LostAnswer,
    Fault::Slow,
];

/// The proxy. It runs until the process ends.
pub(super) struct Unreliable {
    pub(super) address: SocketAddr,
    /// The certificate to trust, as PEM.
    pub(super) certificate: String,
    shared: Arc<Shared>,
}

struct Shared {
    /// A client without credentials, so that those of the request are used.
    upstream: Client,
    struck: Mutex<BTreeMap<Fault, usize>>,
}

impl Unreliable {
    /// Starts the proxy at an address of this machine that pods can reach.
    pub(super) fn start(bed: &Bed, ip: IpAddr) -> Self {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (upstream, listener) = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&bed.settings().kubeconfig).unwrap();
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
            config.auth_info = AuthInfo::default();
            config.default_retry = false;
            config.disable_compression = true;
            (Client::try_from(config).unwrap(), TcpListener::bind((ip, 0)).await.unwrap())
        });
        let address = listener.local_addr().unwrap();
        let made = rcgen::generate_simple_self_signed(vec![ip.to_string()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let tls = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let shared = Arc::new(Shared { upstream, struck: Mutex::default() });
        let server = accept(listener, acceptor, Arc::clone(&shared));
        std::thread::spawn(move || runtime.block_on(server));
        Self { address, certificate: made.cert.pem(), shared }
    }

    /// Returns how often each fault occurred.
    pub(super) fn struck(&self) -> BTreeMap<Fault, usize> {
        self.shared.struck.lock().unwrap().clone()
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, shared: Arc<Shared>) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request| serve(Arc::clone(&shared), request));
            // The client notices an error on its connection.
            drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

async fn serve(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Answer, Error> {
    let query = request.uri().query().unwrap_or_default();
    let watch = query.split('&').any(|part| part == "watch=true" || part == "watch=1");
    let fault = choose(watch, request.method() == Method::GET);
    if let Some(fault) = fault {
        *shared.struck.lock().unwrap().entry(fault).or_default() += 1;
    }
    match fault {
        Some(Fault::Status(code, reason)) => return Ok(refusal(code, reason)),
        Some(Fault::Expired) => return Ok(expired()),
        Some(Fault::Reset) => return Err("reset".into()),
        Some(Fault::Slow) => sleep(SLOW.mul_f64(fastrand::f64())).await,
        Some(Fault::LostAnswer) | None => {}
    }
    let answer = pass_on(&shared.upstream, request).await?;
    if fault == Some(Fault::LostAnswer) {
        return Err("the answer is lost".into());
    }
    let (head, body) = answer.into_parts();
    let frames = BodyStream::new(body).map(|frame| frame.map_err(Error::from));
    let body = if watch {
        StreamBody::new(frames.take_until(sleep(WATCH.mul_f64(fastrand::f64())))).boxed_unsync()
    } else {
        StreamBody::new(frames).boxed_unsync()
    };
    Ok(Response::from_parts(head, body))
}

fn choose(watch: bool, read: bool) -> Option<Fault> {
    if fastrand::u32(..EVERY) > 0 {
        return None;
    }
    let one = FAULTS[fastrand::usize(..FAULTS.len())];
    // Reads never conflict.
    match one {
        Fault::Status(409, _) if watch => Some(Fault::Expired),
        Fault::Status(409, _) if read => None,
        one => Some(one),
    }
}

async fn pass_on(upstream: &Client, request: Request<Incoming>) -> Result<Response<Body>, Error> {
    let (mut head, body) = request.into_parts();
    // The client sets its own.
    head.headers.remove(hyper::header::HOST);
    let body = body.collect().await?.to_bytes();
    Ok(upstream.send(Request::from_parts(head, Body::from(body))).await?)
}

/// Returns a `Status` object as in an API server's error response.
fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "refused by the test", "reason": reason, "code": code,
    })
}

fn refusal(code: u16, reason: &str) -> Answer {
    let mut answer = Response::builder().status(code).header("Content-Type", "application/json");
    if code == 429 {
        answer = answer.header("Retry-After", "1");
    }
    answer.body(text(status(code, reason).to_string())).unwrap()
}

fn expired() -> Answer {
    let event = json!({"type": "ERROR", "object": status(410, "Expired")});
    Response::builder().header("Content-Type", "application/json").body(text(format!("{event}\n"))).unwrap()
}

fn text(text: String) -> UnsyncBoxBody<Bytes, Error> {
    Full::from(text).map_err(|never| match never {}).boxed_unsync()
}
