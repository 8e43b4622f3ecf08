//! Tests with a worker and an aggregator in Go, which have independent implementations of TLS,
//! certificates and HTTP.

use http_body_util::BodyExt as _;
use plumbline_phonehome::{Client, ClientConfig, ClientError, Outcome, ResultKey, RetryPolicy, Source, Upload};
use serde_json::json;

use crate::harness::{GoProgram, Run, answer, chain, key, quick, serve, unhurried};

const PATH: &str = "/api/v1/results/global/e2e";

#[tokio::test]
async fn a_go_worker_delivers_with_our_certificate_and_key() {
    let run = Run::new();
    let server = serve(&run, |_, request, identity| async move {
        let (head, body) = request.into_parts();
        let header = |name: &str| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(head.uri.path(), PATH);
        assert_eq!(header("content-type").unwrap(), "application/gzip");
        assert_eq!(header("content-disposition").unwrap(), "attachment;filename=e2e.tar.gz");
        assert_eq!(header("transfer-encoding").unwrap(), "chunked");
        let bytes = body.collect().await.unwrap().to_bytes().len();
        match (identity.may_act_for(&"e2e".parse().unwrap()), bytes) {
            (true, 3_000_000) => answer(200, ""),
            (false, _) => answer(403, "not for this plugin\n"),
            (true, _) => answer(500, "not all of it\n"),
        }
    })
    .await;
    let arguments = ["put", PATH, "3000000"];
    let Some(mut worker) = GoProgram::client(&arguments, &run.config("e2e", server.address)).await else { return };
    assert_eq!(worker.says().await, json!({"status": 200, "body": "", "protocol": "HTTP/1.1"}));
    worker.end().await;

    let mut worker = GoProgram::client(&arguments, &run.config("systemd-logs", server.address)).await.unwrap();
    assert_eq!(worker.says().await["status"], 403);
    worker.end().await;
}

#[tokio::test]
async fn a_go_worker_of_another_run_is_not_let_in_and_does_not_trust_us() {
    let (run, other) = (Run::new(), Run::new());
    let server = serve(&run, |_, _, _| async { answer(200, "") }).await;
    let stranger = other.config("e2e", server.address);
    let Some(mut worker) = GoProgram::client(&["put", PATH, "1"], &stranger).await else { return };
    let said = worker.says().await.to_string();
    assert!(
        said.contains("certificate signed by unknown authority") || said.contains("failed to verify certificate"),
        "{said}"
    );
    worker.end().await;

    let trusting = ClientConfig { ca_cert: run.ca.certificate_pem().to_owned(), ..stranger };
    let mut worker = GoProgram::client(&["put", PATH, "1"], &trusting).await.unwrap();
    let said = worker.says().await;
    assert!(said["status"].is_null() && said["error"].is_string(), "{said}");
    worker.end().await;
}

#[tokio::test]
async fn we_deliver_to_a_go_aggregator_with_our_certificates() {
    let run = Run::new();
    let environment = [
        ("CA_CERT", run.ca.certificate_pem()),
        ("SERVER_CERT", &run.server.certificate_pem),
        ("SERVER_KEY", &run.server.key_pem),
    ];
    let Some(mut aggregator) = GoProgram::start(&["serve"], &environment).await else { return };
    let address = aggregator.says().await["address"].as_str().unwrap().parse().unwrap();

    // The Go server gives the go-ahead when it starts to read, and the client waits for it
    // indefinitely.
    let client = Client::with_timeouts(&run.config("e2e", address), unhurried()).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(5_000_000).unwrap();
    let by_node = ResultKey::new("e2e".parse().unwrap(), "worker-1".parse().unwrap());
    let upload =
        Upload::result(Source::File(file.path().into()), "text/xml; charset=utf-8", Some("für (1).xml".to_owned()));
    assert_eq!(client.put_result(&by_node, &upload, &RetryPolicy::never()).await.unwrap(), Outcome::Stored);
    assert_eq!(
        aggregator.says().await,
        json!({
            "method": "PUT", "path": "/api/v1/results/by-node/worker-1/e2e", "protocol": "HTTP/1.1",
            "type": "text/xml; charset=utf-8", "filename": "für (1).xml", "expect": "100-continue",
            "length": 5_000_000, "bytes": 5_000_000, "peer": ["e2e"], "resumed": false,
            "sha256": "b39781589c4403fb82174c9647a010464cff38bad976547d339899b00053a545",
        })
    );

    let empty = Upload::result(Source::Bytes("".into()), "", None);
    assert_eq!(client.put_result(&key(), &empty, &RetryPolicy::never()).await.unwrap(), Outcome::Stored);
    let said = aggregator.says().await;
    assert_eq!(
        (&said["bytes"], &said["length"], &said["type"], &said["expect"]),
        (&json!(0), &json!(0), &json!(""), &json!(""))
    );
    assert_eq!(said["resumed"], true, "the second connection costs no signature");

    let answer = client.post_progress(&key(), r#"{"msg":"half"}"#.into()).await.unwrap();
    assert!(answer.status.is_success());
    let said = aggregator.says().await;
    assert_eq!((&said["method"], &said["path"]), (&json!("POST"), &json!("/api/v1/progress/global/e2e")));
    assert_eq!(said["type"], "application/json");

    let unexpected = ResultKey::global("unexpected".parse().unwrap());
    match client.put_result(&unexpected, &upload, &quick()).await.unwrap_err() {
        ClientError::Refused { status, body, .. } => {
            assert_eq!((status.as_u16(), body.as_str()), (403, "this result is unexpected\n"));
        }
        other => panic!("{}", chain(&other)),
    }
    aggregator.end().await;
}

#[tokio::test]
async fn we_deliver_where_authority_and_server_have_one_name() {
    let Some(mut aggregator) = GoProgram::start(&["serve-one-name"], &[]).await else { return };
    let given = aggregator.says().await;
    let text = |name: &str| given[name].as_str().unwrap().to_owned();
    let config = ClientConfig {
        aggregator_url: format!("https://{}", text("address")),
        ca_cert: text("ca_cert"),
        client_cert: text("client_cert"),
        client_key: text("client_key"),
    };
    let client = Client::with_timeouts(&config, unhurried()).unwrap();
    let upload = Upload::result(Source::Bytes("hello".into()), "text/plain", None);
    assert_eq!(client.put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap(), Outcome::Stored);
    let said = aggregator.says().await;
    assert_eq!((&said["bytes"], &said["peer"]), (&json!(5), &json!(["e2e"])));
    aggregator.end().await;
}
