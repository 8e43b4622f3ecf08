//! Tests of the worker program with an aggregator that records requests.
#![expect(clippy::unwrap_used, reason = "tests say what they expect")]

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use plumbline_phonehome::{
    Bytes, Heartbeat, Hello, Issued, Phase, Route, RouteKind, RunCa, RunId, Timestamp, server_config,
};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

/// A recorded request.
#[derive(Clone)]
struct Heard {
    route: Route,
    headers: hyper::HeaderMap,
    body: Bytes,
}

impl Heard {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

struct Aggregator {
    ca: RunCa,
    client: Issued,
    url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Aggregator {
    async fn start() -> Self {
        let ca = RunCa::generate(&RunId::random(), Duration::from_secs(3600), Timestamp::now()).unwrap();
        let issued = ca.issue_server(&["127.0.0.1".to_owned()]).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(&ca, &issued).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let keep = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, keep) = (acceptor.clone(), Arc::clone(&keep));
                tokio::spawn(async move {
                    let stream = TokioIo::new(acceptor.accept(stream).await.unwrap());
                    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                        let keep = Arc::clone(&keep);
                        async move {
                            let (head, body) = request.into_parts();
                            let body = body.collect().await?.to_bytes();
                            let route = Route::parse(head.uri.path()).unwrap();
                            keep.lock().unwrap().push(Heard { route, headers: head.headers, body });
                            Ok::<_, hyper::Error>(Response::new(Empty::<Bytes>::new()))
                        }
                    });
                    // The worker may disconnect in any way after it has its response.
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
                });
            }
        });
        let client = ca.issue_client(&"facts".parse().unwrap()).unwrap();
        Self { ca, client, url, heard }
    }

    async fn worker(&self, mode: &str, path: &Path) -> Output {
        Command::new(env!("CARGO_BIN_EXE_phonehome-worker"))
            .args([mode.as_ref(), path.as_os_str()])
            .env("AGGREGATOR_URL", &self.url)
            .env("CA_CERT", self.ca.certificate_pem())
            .env("CLIENT_CERT", &self.client.certificate_pem)
            .env("CLIENT_KEY", &self.client.key_pem)
            .env("RESULT_TYPE", "facts")
            .env("NODE_NAME", "worker-1")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap()
    }

    fn heard(&self, kind: RouteKind) -> Vec<Heard> {
        self.heard.lock().unwrap().iter().filter(|heard| heard.route.kind == kind).cloned().collect()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn a_directory_arrives_as_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join("deep/er")).unwrap();
    fs::write(directory.path().join("a.json"), "{}").unwrap();
    fs::write(directory.path().join("deep/er/b.txt"), "b").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.path().join("link")).unwrap();

    let aggregator = Aggregator::start().await;
    let output = aggregator.worker("single-node", directory.path()).await;
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "the aggregator has result facts/worker-1\n");

    let results = aggregator.heard(RouteKind::Results);
    let [result] = results.as_slice() else { unreachable!("one result is sent, not {}", results.len()) };
    assert_eq!(result.route.path(), "/api/v1/results/by-node/worker-1/facts");
    assert_eq!(result.header("content-type"), "application/gzip");
    assert_eq!(result.header("content-disposition"), "attachment;filename=results.tar.gz");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(result.body.as_ref()));
    let mut members = Vec::new();
    for member in archive.entries().unwrap() {
        let mut member = member.unwrap();
        let mut content = String::new();
        member.read_to_string(&mut content).unwrap();
        members.push((member.path().unwrap().to_string_lossy().into_owned(), content));
    }
    let expected = [("a.json", "{}"), ("deep", ""), ("deep/er", ""), ("deep/er/b.txt", "b")];
    assert_eq!(members, expected.map(|(name, content)| (name.to_owned(), content.to_owned())));

    let progress = aggregator.heard(RouteKind::Progress);
    assert_eq!(
        progress.iter().map(|heard| heard.body.as_ref()).collect::<Vec<_>>(),
        [&br#"{"msg":"packing"}"#[..], br#"{"msg":"sending"}"#]
    );
}

#[tokio::test]
async fn a_file_arrives_as_it_is_after_a_hello() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.xml");
    fs::write(&file, "<testsuites/>").unwrap();

    let aggregator = Aggregator::start().await;
    let output = aggregator.worker("global", &file).await;
    assert!(output.status.success(), "{}", said(&output));
    let results = aggregator.heard(RouteKind::Results);
    let [result] = results.as_slice() else { unreachable!("one result is sent, not {}", results.len()) };
    assert_eq!(result.route.path(), "/api/v1/results/global/facts");
    assert_eq!(result.header("content-type"), "text/xml; charset=utf-8");
    assert_eq!(result.header("content-disposition"), "attachment;filename=report.xml");
    assert_eq!(result.body, "<testsuites/>");

    let hellos = aggregator.heard(RouteKind::Hello);
    let [hello] = hellos.as_slice() else { unreachable!("one hello is said, not {}", hellos.len()) };
    assert!(Hello::parse(&hello.body).unwrap().version.starts_with("phonehome-worker "));
    let last = aggregator.heard(RouteKind::Heartbeat).pop().unwrap();
    assert_eq!(Heartbeat::parse(&last.body).unwrap().phase, Phase::Done);
}

#[tokio::test]
async fn an_unreadable_report_is_reported_to_the_aggregator() {
    let aggregator = Aggregator::start().await;
    let output = aggregator.worker("global", Path::new("/nonexistent/report.xml")).await;
    assert_eq!(output.status.code(), Some(1));
    let results = aggregator.heard(RouteKind::Results);
    let [failure] = results.as_slice() else { unreachable!("one failure is sent, not {}", results.len()) };
    assert_eq!(failure.header("x-plumbline-error"), "true");
    let document: serde_json::Value = serde_json::from_slice(&failure.body).unwrap();
    assert!(
        document["error"].as_str().unwrap().starts_with("failed to read `/nonexistent/report.xml`: "),
        "{document}"
    );
    assert!(said(&output).contains("error: failed to read `/nonexistent/report.xml`"), "{}", said(&output));
}

#[tokio::test]
async fn missing_arguments_are_reported() {
    let worker = || {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_phonehome-worker"));
        worker.env_clear();
        worker
    };
    for (arguments, message) in [
        (&[][..], "error: usage: phonehome-worker global|single-node PATH\n"),
        (&["sometimes", "x"], "error: `RESULT_TYPE` is not set: an aggregator sets it in what it starts\n"),
    ] {
        let output = worker().args(arguments).output().await.unwrap();
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(2), message));
    }
    let output = worker().args(["sometimes", "x"]).env("RESULT_TYPE", "facts").output().await.unwrap();
    assert_eq!(
        (output.status.code(), said(&output).as_str()),
        (Some(2), "error: usage: phonehome-worker global|single-node PATH\n")
    );
    let output = worker().args(["global", "x"]).env("RESULT_TYPE", "Facts!").output().await.unwrap();
    assert!(said(&output).starts_with("error: `RESULT_TYPE`: "), "{}", said(&output));
}
