//! Tests that the server accepts the requests in docs/protocol.md, "By hand, with curl", as
//! documented.

use std::fs;
use std::process::Stdio;

use http_body_util::BodyExt as _;
use plumbline_phonehome::{HEADER_ERROR, Heartbeat, Phase, Route, RouteKind, disposition_file_name, is_archive};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

use crate::harness::{Run, answer, command, has, serve, skipped};

#[tokio::test]
async fn results_errors_and_heartbeats_can_be_sent_by_hand() {
    if !has("curl") {
        return skipped("curl");
    }
    let run = Run::new();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let server = serve(&run, move |_, request, identity| {
        let sender = sender.clone();
        async move {
            let (head, body) = request.into_parts();
            let route = Route::parse(head.uri.path()).unwrap();
            if !route.allows(&head.method) {
                return answer(405, "");
            }
            if !identity.may_act_for(&route.key.plugin) {
                return answer(403, "this certificate is not valid for that plugin\n");
            }
            let body = body.collect().await.unwrap().to_bytes();
            sender.send((route, head.headers, body)).unwrap();
            answer(200, "")
        }
    })
    .await;

    let files = tempfile::tempdir().unwrap();
    let config = run.config("e2e", server.address);
    for (name, text) in [
        ("ca.pem", config.ca_cert.as_str()),
        ("client.pem", &config.client_cert),
        ("client.key", &config.client_key),
        ("report.xml", "<testsuites/>"),
    ] {
        fs::write(files.path().join(name), text).unwrap();
    }
    let curl = |path: &str, arguments: &[&str]| {
        let mut curl = command("curl");
        curl.args(["-sS", "--fail-with-body", "--cacert", "ca.pem", "--cert", "client.pem", "--key", "client.key"]);
        curl.args(arguments).arg(format!("{}{path}", config.aggregator_url));
        curl.current_dir(files.path()).stdin(Stdio::piped());
        async move {
            let mut child = curl.spawn().unwrap();
            child.stdin.take().unwrap().write_all(b"from a pipe").await.unwrap();
            let output = child.wait_with_output().await.unwrap();
            (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
        }
    };

    let xml = ["-H", "Content-Type: text/xml; charset=utf-8"];
    let named = ["-H", "Content-Disposition: attachment;filename=report.xml", "-T", "report.xml"];
    assert_eq!(
        curl("/api/v1/results/global/e2e", &[xml, [named[0], named[1]], [named[2], named[3]]].concat()).await.0,
        0
    );
    let (route, headers, body) = receiver.recv().await.unwrap();
    assert_eq!(
        (route.kind, route.key.to_string().as_str(), body.as_ref()),
        (RouteKind::Results, "e2e/global", &b"<testsuites/>"[..])
    );
    assert!(!is_archive(Some(headers["content-type"].as_bytes())));
    assert_eq!(disposition_file_name(Some(headers["content-disposition"].as_bytes())).unwrap().as_str(), "report.xml");

    assert_eq!(
        curl("/api/v1/results/by-node/worker-1/e2e", &["-H", "Content-Type: application/gzip", "-T", "-"]).await.0,
        0
    );
    let (route, headers, body) = receiver.recv().await.unwrap();
    assert_eq!((route.key.to_string().as_str(), body.as_ref()), ("e2e/worker-1", &b"from a pipe"[..]));
    assert_eq!(headers["transfer-encoding"], "chunked");
    assert!(is_archive(Some(headers["content-type"].as_bytes())));

    let failure = [
        "-X",
        "PUT",
        "-H",
        "X-Plumbline-Error: true",
        "-H",
        "Content-Type: application/json",
        "-d",
        r#"{"error":"full"}"#,
    ];
    assert_eq!(curl("/api/v1/results/global/e2e", &failure).await.0, 0);
    let (_, headers, body) = receiver.recv().await.unwrap();
    assert_eq!((headers[HEADER_ERROR].as_bytes(), body.as_ref()), (&b"true"[..], &br#"{"error":"full"}"#[..]));

    let beat = ["-d", r#"{"phase":"waiting","since":"2026-01-02T03:04:05Z"}"#];
    assert_eq!(curl("/api/v1/heartbeat/global/e2e", &beat).await.0, 0);
    let (route, _, body) = receiver.recv().await.unwrap();
    assert_eq!((route.kind, Heartbeat::parse(&body).unwrap().phase), (RouteKind::Heartbeat, Phase::Waiting));

    let (code, said) = curl("/api/v1/results/global/systemd-logs", &named[2..]).await;
    assert_eq!((code, said.as_str()), (22, "this certificate is not valid for that plugin\n"));
    assert_eq!(curl("/api/v1/heartbeat/global/e2e", &named[2..]).await.0, 22);
}
