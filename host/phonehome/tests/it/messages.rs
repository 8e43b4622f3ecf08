//! Tests for progress updates, hellos and heartbeats, and for the headers of an upload.

use http::Request;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use plumbline_phonehome::{
    Bytes, HEADER_ERROR, Heartbeat, Hello, Outcome, Phase, ResultKey, RetryPolicy, Route, RouteKind, Source,
    StatusCode, Timestamp, Upload, disposition_file_name, is_archive,
};
use tokio::sync::mpsc;

use crate::harness::{Run, Served, answer, key, serve};

/// What the server received of a request.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    kind: RouteKind,
    key: String,
    body: Bytes,
    content_type: Option<String>,
    is_archive: bool,
    file_name: String,
    error: Option<String>,
    length: Option<String>,
}

async fn understand(request: Request<Incoming>) -> Seen {
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let raw = |name: &str| head.headers.get(name).map(http::HeaderValue::as_bytes);
    let route = Route::parse(head.uri.path()).unwrap();
    assert!(route.allows(&head.method), "{} {}", head.method, head.uri);
    Seen {
        kind: route.kind,
        key: route.key.to_string(),
        is_archive: is_archive(raw("content-type")),
        file_name: disposition_file_name(raw("content-disposition")).unwrap().as_str().to_owned(),
        content_type: header("content-type"),
        error: header(HEADER_ERROR),
        length: header("content-length"),
        body: body.collect().await.unwrap().to_bytes(),
    }
}

async fn listening(run: &Run, status: u16) -> (Served, mpsc::UnboundedReceiver<Seen>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let server = serve(run, move |_, request, _| {
        let sender = sender.clone();
        async move {
            sender.send(understand(request).await).unwrap();
            answer(status, "so be it\n")
        }
    })
    .await;
    (server, receiver)
}

#[tokio::test]
async fn messages_arrive_under_their_routes_and_any_answer_is_one() {
    let run = Run::new();
    for status in [200, 400, 403, 404, 500, 503] {
        let (server, mut receiver) = listening(&run, status).await;
        let client = run.client(server.address);
        let by_node = ResultKey::new("e2e".parse().unwrap(), "worker-1".parse().unwrap());

        let update = Bytes::from_static(br#"{"msg":"5 of 7","unknown":[1]}"#);
        let said = client.post_progress(&by_node, update.clone()).await.unwrap();
        assert_eq!((said.status.as_u16(), said.body.as_ref()), (status, &b"so be it\n"[..]));
        assert_eq!(said.status.is_success(), status == 200);
        let seen = receiver.recv().await.unwrap();
        assert_eq!((seen.kind, seen.key.as_str(), &seen.body), (RouteKind::Progress, "e2e/worker-1", &update));
        assert_eq!(seen.content_type.as_deref(), Some("application/json"));

        let hello = Hello {
            version: "1.2.3".to_owned(),
            pid: Some(7),
            started: Timestamp::UNIX_EPOCH,
            results_dir: "/tmp/results".to_owned(),
        };
        client.hello(&key(), &hello).await.unwrap();
        let seen = receiver.recv().await.unwrap();
        assert_eq!((seen.kind, seen.key.as_str()), (RouteKind::Hello, "e2e/global"));
        assert_eq!(Hello::parse(&seen.body).unwrap(), hello);

        let heartbeat = Heartbeat { phase: Phase::Uploading, since: Timestamp::UNIX_EPOCH };
        client.heartbeat(&key(), &heartbeat).await.unwrap();
        let seen = receiver.recv().await.unwrap();
        assert_eq!((seen.kind, seen.key.as_str()), (RouteKind::Heartbeat, "e2e/global"));
        assert_eq!(Heartbeat::parse(&seen.body).unwrap(), heartbeat);
        assert_eq!(server.connections(), 3, "messages are not tried again");
    }
}

#[tokio::test]
async fn an_upload_says_what_it_is() {
    let run = Run::new();
    let (server, mut receiver) = listening(&run, 200).await;
    let client = run.client(server.address);
    for (content_type, filename, kind, file_name) in [
        ("application/gzip", Some("e2e.tar.gz"), true, "e2e.tar.gz"),
        ("text/xml; charset=utf-8", Some("für \"1\".xml"), false, "für \"1\".xml"),
        ("", Some("systemd_logs"), false, "systemd_logs"),
        ("application/json", None, false, "result"),
        // An invalid file name is not sent at all.
        ("application/json", Some("../x"), false, "result"),
    ] {
        let upload = Upload::result(Source::Bytes("abc".into()), content_type, filename.map(str::to_owned));
        let outcome = client.put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap();
        assert_eq!(outcome, Outcome::Stored);
        let seen = receiver.recv().await.unwrap();
        assert_eq!((seen.is_archive, seen.file_name.as_str(), seen.error), (kind, file_name, None));
        assert_eq!(seen.content_type.unwrap_or_default(), content_type);
        assert_eq!((seen.length.as_deref(), seen.body.as_ref()), (Some("3"), &b"abc"[..]));
    }
}

#[tokio::test]
async fn a_failure_says_why() {
    let run = Run::new();
    let (server, mut receiver) = listening(&run, 200).await;
    let failure = Upload::failure("the done file names `x\"\ny`, which does not exist");
    run.client(server.address).put_result(&key(), &failure, &RetryPolicy::never()).await.unwrap();
    let seen = receiver.recv().await.unwrap();
    assert_eq!(
        (seen.kind, seen.error.as_deref(), seen.file_name.as_str()),
        (RouteKind::Results, Some("true"), "error.json")
    );
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&seen.body).unwrap(),
        serde_json::json!({"error": "the done file names `x\"\ny`, which does not exist"})
    );
}

#[tokio::test]
async fn a_content_type_that_no_header_can_hold_is_refused_here() {
    let run = Run::new();
    let server = serve(&run, |_, _, _| async { answer(200, "") }).await;
    let upload = Upload::result(Source::Bytes("abc".into()), "text/plain\r\nx-plumbline-error: true", None);
    let error = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "send a body of type `text/plain\\r\\nx-plumbline-error: true`: it is not a valid header value"
    );
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn both_ways_to_say_that_it_is_over_are_success() {
    let run = Run::new();
    for (status, outcome) in [(200, Outcome::Stored), (201, Outcome::Stored), (409, Outcome::OtherReceived)] {
        let (server, _receiver) = listening(&run, status).await;
        let upload = Upload::result(Source::Bytes("abc".into()), "", None);
        let got = run.client(server.address).put_result(&key(), &upload, &RetryPolicy::default()).await.unwrap();
        assert_eq!((got, server.connections()), (outcome, 1), "{}", StatusCode::from_u16(status).unwrap());
    }
}
