//! A test aggregator with real TLS and HTTP that records requests, and responds as configured.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use plumbline_phonehome::{
    ClientConfig, Issued, NodeName, PluginName, RetryPolicy, RunCa, RunId, Timestamp, server_config,
};
use plumbline_worker::{HeartbeatPolicy, Mode, Settings, Worker, WorkerConfig};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Only the start of larger bodies is kept, so that the aggregator's memory does not affect the
/// measurement.
const KEPT_BYTES: usize = 8 << 20;

#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The first 8 MiB of the body.
    pub(crate) body: Bytes,
    /// The total size of the body.
    pub(crate) bytes: u64,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns the kind of request: `results`, `progress`, `hello` or `heartbeat`.
    pub(crate) fn kind(&self) -> &str {
        self.path.split('/').nth(3).unwrap_or_default()
    }

    /// Returns one value of a body that is a JSON object.
    pub(crate) fn json(&self, key: &str) -> serde_json::Value {
        serde_json::from_slice::<serde_json::Value>(&self.body).unwrap()[key].take()
    }
}

type Answers = Arc<Mutex<dyn FnMut(&ReceivedRequest) -> (StatusCode, String) + Send>>;

/// The certificates of a run.
pub(crate) struct Run {
    pub(crate) ca: RunCa,
    pub(crate) server: Issued,
    pub(crate) client: Issued,
}

pub(crate) const PLUGIN: &str = "node-check";

/// An IP address on which no other test uses ports.
pub(crate) const ELSEWHERE: &str = "127.0.0.77";

impl Run {
    pub(crate) fn new() -> Self {
        let ca = RunCa::generate(&RunId::random(), Duration::from_secs(3600), Timestamp::now()).unwrap();
        let server = ca.issue_server(&["127.0.0.1".to_owned(), ELSEWHERE.to_owned()]).unwrap();
        let client = ca.issue_client(&plugin()).unwrap();
        Self { ca, server, client }
    }

    pub(crate) fn client_config(&self, address: SocketAddr) -> ClientConfig {
        ClientConfig {
            aggregator_url: format!("https://{address}"),
            ca_cert: self.ca.certificate_pem().to_owned(),
            client_cert: self.client.certificate_pem.clone(),
            client_key: self.client.key_pem.clone(),
        }
    }

    /// Returns the configuration of a worker of this run.
    pub(crate) fn config(&self, address: SocketAddr, results_dir: &Path) -> WorkerConfig {
        WorkerConfig {
            client: self.client_config(address),
            plugin: plugin(),
            node: None,
            results_dir: results_dir.to_owned(),
            progress_port: 0,
            progress_bind: vec!["127.0.0.1".parse().unwrap()],
            done_file_delay: Duration::from_millis(20),
            upload_retry: None,
            log_progress: None,
        }
    }

    /// Returns a worker of this run with short intervals.
    pub(crate) fn worker(&self, address: SocketAddr, results_dir: &Path) -> Worker {
        Worker::new(self.config(address, results_dir), Mode::Global { sleep: 0 }, quick()).unwrap()
    }
}

pub(crate) fn plugin() -> PluginName {
    PLUGIN.parse().unwrap()
}

pub(crate) fn node() -> NodeName {
    "node-7".parse().unwrap()
}

/// Returns short intervals for tests. No test checks their values.
pub(crate) fn quick() -> Settings {
    Settings {
        poll: Duration::from_millis(5),
        rhythm: HeartbeatPolicy {
            first_retry: Duration::from_millis(5),
            longest_retry: Duration::from_millis(20),
            heartbeat: Duration::from_millis(20),
        },
        retry: |_| RetryPolicy {
            deadline: Duration::from_secs(60),
            first: Duration::from_millis(5),
            max: Duration::from_millis(20),
        },
        last_writes: Duration::from_millis(10),
        ..Settings::default()
    }
}

/// Waits for something that must happen, and panics after a minute.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(60), future).await {
        Ok(value) => value,
        Err(_) => panic!("waited for a minute, in vain: {what}"),
    }
}

/// Returns a run with its aggregator, and an empty results directory.
pub(crate) async fn setup() -> (Run, Aggregator, TempDir) {
    let run = Run::new();
    let aggregator = Aggregator::start(&run).await;
    (run, aggregator, tempfile::tempdir().unwrap())
}

pub(crate) struct Aggregator {
    pub(crate) address: SocketAddr,
    heard: mpsc::UnboundedReceiver<ReceivedRequest>,
    _tasks: JoinSet<()>,
}

impl Aggregator {
    /// Responds to everything with 200.
    pub(crate) async fn start(run: &Run) -> Self {
        Self::answering(run, |_| (StatusCode::OK, String::new())).await
    }

    /// Responds to results with these codes in order, where the last one repeats, and to everything
    /// else with 200.
    pub(crate) async fn of_results(run: &Run, codes: &[u16]) -> Self {
        let mut codes = codes.to_vec();
        Self::answering(run, move |heard| {
            if heard.kind() != "results" {
                return (StatusCode::OK, String::new());
            }
            let code = if codes.len() > 1 { codes.remove(0) } else { codes[0] };
            (StatusCode::from_u16(code).unwrap(), format!("because of {code}\n"))
        })
        .await
    }

    /// Returns an aggregator that supports results and progress, but no hellos or heartbeats.
    pub(crate) async fn plain(run: &Run) -> Self {
        Self::answering(run, |heard| match heard.kind() {
            "results" | "progress" => (StatusCode::OK, String::new()),
            _ => (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
        })
        .await
    }

    pub(crate) async fn answering(
        run: &Run,
        answers: impl FnMut(&ReceivedRequest) -> (StatusCode, String) + Send + 'static,
    ) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), run, answers)
    }

    pub(crate) fn on(
        listener: TcpListener,
        run: &Run,
        answers: impl FnMut(&ReceivedRequest) -> (StatusCode, String) + Send + 'static,
    ) -> Self {
        let answers: Answers = Arc::new(Mutex::new(answers));
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&run.ca, &run.server).unwrap()));
        let address = listener.local_addr().unwrap();
        let (tell, heard) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, tell, answers) = (acceptor.clone(), tell.clone(), Arc::clone(&answers));
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request| answer(request, tell.clone(), Arc::clone(&answers)));
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, heard, _tasks: tasks }
    }

    /// Returns the next request of this kind, and drops others before it.
    pub(crate) async fn next(&mut self, kind: &str) -> ReceivedRequest {
        self.next_of(&[kind]).await
    }

    /// Returns the next request of one of these kinds, and drops others before it.
    pub(crate) async fn next_of(&mut self, kinds: &[&str]) -> ReceivedRequest {
        soon(&kinds.join(" or "), async {
            loop {
                let heard = self.heard.recv().await.unwrap();
                if kinds.contains(&heard.kind()) {
                    return heard;
                }
            }
        })
        .await
    }

    /// Returns all remaining requests of this kind.
    pub(crate) fn rest(&mut self, kind: &str) -> Vec<ReceivedRequest> {
        let mut rest = Vec::new();
        while let Ok(heard) = self.heard.try_recv() {
            rest.push(heard);
        }
        rest.retain(|heard| heard.kind() == kind);
        rest
    }
}

async fn answer(
    request: Request<Incoming>,
    tell: mpsc::UnboundedSender<ReceivedRequest>,
    answers: Answers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, mut incoming) = request.into_parts();
    let (mut body, mut bytes) = (BytesMut::new(), 0);
    while let Some(frame) = incoming.frame().await {
        // An interrupted request is not recorded.
        let Ok(frame) = frame else { return Ok(Response::new(Full::default())) };
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len() as u64;
        body.extend_from_slice(&data[..data.len().min(KEPT_BYTES - body.len())]);
    }
    let heard =
        ReceivedRequest { path: parts.uri.path().to_owned(), headers: parts.headers, body: body.freeze(), bytes };
    let (status, text) = (*answers.lock().unwrap())(&heard);
    let _ = tell.send(heard);
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    Ok(response)
}
