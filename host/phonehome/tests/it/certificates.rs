//! Tests for which certificates are trusted, and for how long.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use plumbline_phonehome::{
    Client, ClientConfig, ClientError, Outcome, RetryPolicy, RunCa, Source, Timestamp, TlsFailure, Upload,
    server_config,
};
use rustls::HandshakeKind;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::harness::{Run, Served, answer, chain, key, serve, serve_raw, serve_tcp, unhurried};

async fn put(config: &ClientConfig) -> Result<Outcome, ClientError> {
    let client = Client::with_timeouts(config, unhurried()).unwrap();
    let upload = Upload::result(Source::Bytes("x".into()), "text/plain", None);
    client.put_result(&key(), &upload, &RetryPolicy::never()).await
}

async fn taking_all(run: &Run) -> Served {
    serve(run, |_, request, _| async {
        request.into_body().collect().await.unwrap();
        answer(200, "")
    })
    .await
}

fn refused_by_us(error: &ClientError) -> &rustls::CertificateError {
    match error {
        ClientError::Tls { source: TlsFailure::Protocol(rustls::Error::InvalidCertificate(reason)), .. } => reason,
        other => panic!("{}", chain(other)),
    }
}

#[tokio::test]
async fn the_certificate_says_for_which_plugin_the_worker_acts() {
    let run = Run::new();
    let server = serve(&run, |_, request, identity| async move {
        let plugin = request.uri().path().rsplit('/').next().unwrap().parse().unwrap();
        if !identity.may_act_for(&plugin) {
            return answer(403, "not for this plugin\n");
        }
        request.into_body().collect().await.unwrap();
        answer(200, "")
    })
    .await;
    assert_eq!(put(&run.config("e2e", server.address)).await.unwrap(), Outcome::Stored);
    for other in ["e2e2", "e2", "systemd-logs", "x.e2e", "e2e.x"] {
        let error = put(&run.config(other, server.address)).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("PUT /api/v1/results/global/e2e: {} answered 403 Forbidden: not for this plugin", server.address),
            "{other}"
        );
        assert!(error.hint().unwrap().contains("the certificate is another plugin's"));
    }
}

#[tokio::test]
async fn an_aggregator_of_another_run_is_not_trusted() {
    let (ours, other) = (Run::new(), Run::new());
    let server = taking_all(&other).await;
    let error = put(&ours.config("e2e", server.address)).await.unwrap_err();
    assert!(matches!(refused_by_us(&error), rustls::CertificateError::UnknownIssuer), "{}", chain(&error));
    assert!(error.hint().unwrap().contains("does not belong to this run"));
}

#[tokio::test]
async fn a_worker_of_another_run_is_not_let_in() {
    let (ours, other) = (Run::new(), Run::new());
    let server = taking_all(&ours).await;
    // This client trusts the server, but presents a certificate of its own run.
    let stranger =
        ClientConfig { ca_cert: ours.ca.certificate_pem().to_owned(), ..other.config("e2e", server.address) };
    let error = put(&stranger).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Tls { source: TlsFailure::Protocol(rustls::Error::AlertReceived(_)), .. }),
        "{}",
        chain(&error)
    );
    assert!(error.hint().unwrap().contains("did not accept this worker's certificate"));
    assert!(error.is_temporary(), "while an aggregator is restarted, another may be at its address");
}

#[tokio::test]
async fn a_worker_cannot_use_the_certificate_of_the_aggregator() {
    let run = Run::new();
    let server = taking_all(&run).await;
    let config = ClientConfig {
        client_cert: run.server.certificate_pem.clone(),
        client_key: run.server.key_pem.clone(),
        ..run.config("e2e", server.address)
    };
    assert!(matches!(put(&config).await, Err(ClientError::Tls { .. })));
}

#[tokio::test]
async fn a_certificate_and_the_key_of_another_are_noticed_before_anything_is_sent() {
    let run = Run::new();
    let address = "127.0.0.1:1".parse().unwrap();
    let config = ClientConfig { client_key: run.server.key_pem.clone(), ..run.config("e2e", address) };
    let error = Client::new(&config).unwrap_err();
    assert!(matches!(&error, ClientError::Certificates(_)), "{}", chain(&error));
    for (broken, text) in [
        (ClientConfig { ca_cert: "/etc/ca.pem".to_owned(), ..run.config("e2e", address) }, "read the CA certificate"),
        (ClientConfig { client_cert: String::new(), ..run.config("e2e", address) }, "read the client certificate"),
        (ClientConfig { client_key: "none".to_owned(), ..run.config("e2e", address) }, "read the client key"),
    ] {
        let error = Client::new(&broken).unwrap_err();
        assert!(chain(&error).contains(text), "{}", chain(&error));
        assert!(error.hint().unwrap().contains("not paths of files"));
    }
}

#[tokio::test]
async fn the_aggregator_must_be_at_an_address_of_its_certificate() {
    let run = Run::at(Timestamp::now(), &["10.9.8.7", "aggregator.plumbline.svc"]);
    let server = taking_all(&run).await;
    let error = put(&run.config("e2e", server.address)).await.unwrap_err();
    assert!(
        matches!(
            refused_by_us(&error),
            rustls::CertificateError::NotValidForName | rustls::CertificateError::NotValidForNameContext { .. }
        ),
        "{}",
        chain(&error)
    );
    assert!(error.hint().unwrap().contains("use that address in `AGGREGATOR_URL`"));
}

#[tokio::test]
async fn names_work_as_well_as_addresses() {
    let run = Run::new();
    let server = taking_all(&run).await;
    let mut config = run.config("e2e", server.address);
    config.aggregator_url = format!("https://localhost:{}", server.address.port());
    // Whichever IP family `localhost` resolves to first, the client also tries the other.
    assert_eq!(put(&config).await.unwrap(), Outcome::Stored);
}

#[tokio::test]
async fn certificates_end_with_the_run_and_begin_before_it() {
    let hour = Duration::from_secs(3600);
    for (begun, works) in [
        (Timestamp::now() - 3 * hour, false),
        (Timestamp::now() - hour - hour / 2, true),
        (Timestamp::now() + hour / 2, true),
        (Timestamp::now() + 3 * hour, false),
    ] {
        let run = Run::at(begun, &["127.0.0.1"]);
        let server = taking_all(&run).await;
        match put(&run.config("e2e", server.address)).await {
            Ok(outcome) => assert!(works && outcome == Outcome::Stored, "begun at {begun}"),
            Err(error) => {
                assert!(!works, "begun at {begun}: {}", chain(&error));
                assert!(error.hint().unwrap().contains("compare the clocks"), "{}", chain(&error));
            }
        }
    }
}

#[tokio::test]
async fn sessions_are_resumed_with_the_run_that_began_them_and_no_other() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let run = Run::new();
    let server = serve_raw(&run, {
        let sender = sender.clone();
        move |_, mut stream| {
            let sender = sender.clone();
            async move {
                let session = stream.get_ref().1;
                let peer = session.peer_certificates().and_then(<[_]>::first).unwrap();
                let peer = plumbline_phonehome::PeerIdentity::from_certificate(peer).unwrap();
                sender.send((session.handshake_kind().unwrap(), peer)).unwrap();
                crate::harness::read_head(&mut stream).await;
                let answer = b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n";
                tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
                crate::harness::read_until_end(&mut stream).await;
            }
        }
    })
    .await;
    let client = run.client(server.address);
    let upload = Upload::result(Source::Bytes("x".into()), "", None);
    for expected in [HandshakeKind::Full, HandshakeKind::Resumed] {
        client.put_result(&key(), &upload, &RetryPolicy::never()).await.unwrap();
        let (kind, peer) = receiver.recv().await.unwrap();
        assert_eq!(kind, expected);
        assert!(peer.may_act_for(&"e2e".parse().unwrap()), "a resumed session has the certificate of the first one");
    }
}

#[tokio::test]
async fn a_restarted_aggregator_takes_the_workers_it_had() {
    let run = Run::new();
    let restarted = RunCa::from_pem(&run.ca.to_pem()).unwrap();
    let issued = restarted.issue_server(&["127.0.0.1".to_owned()]).unwrap();
    let again = Run { ca: restarted, server: issued };
    let server = taking_all(&again).await;
    assert_eq!(put(&run.config("e2e", server.address)).await.unwrap(), Outcome::Stored);
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let run = Run::new();
    let server = serve_tcp(|_, mut stream| async move {
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        crate::harness::read_until_end(&mut stream).await;
    })
    .await;
    let error = put(&run.config("e2e", server.address)).await.unwrap_err();
    assert!(error.hint().unwrap().contains("does not speak TLS"), "{}", chain(&error));

    let hangs_up = serve_tcp(|_, stream| async move { drop(stream) }).await;
    let error = put(&run.config("e2e", hangs_up.address)).await.unwrap_err();
    assert!(matches!(&error, ClientError::Tls { source: TlsFailure::Io(_), .. }), "{}", chain(&error));
}

#[tokio::test]
async fn another_protocol_inside_tls_is_refused() {
    let run = Run::new();
    let mut config = server_config(&run.ca, &run.server).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let server = serve_tcp(move |_, stream| {
        let acceptor = acceptor.clone();
        async move {
            let _ = acceptor.accept(stream).await;
        }
    })
    .await;
    let error = put(&run.config("e2e", server.address)).await.unwrap_err();
    assert!(error.hint().unwrap().contains("does not speak HTTP/1.1"), "{}", chain(&error));
}
