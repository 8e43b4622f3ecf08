//! Tests of authorization.

use std::sync::Arc;

use plumbline_core::ledger::KeyState;
use plumbline_phonehome::{ClientError, Outcome};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::UploadFixture;
use crate::harness::{PATIENCE, Raw, file, put_head, send};

#[tokio::test]
async fn a_plugin_speaks_for_itself_and_for_what_is_expected() {
    let uploads = UploadFixture::new().await;
    let foreign = Raw::exchange(&uploads.q.access, put_head("by-node/n1/p", &["Content-Length: 0"])).await;
    assert_eq!(foreign.status, 403, "{foreign:?}");
    assert!(foreign.body.contains("this certificate is not valid for plugin p"), "{foreign:?}");
    for path in ["by-node/stranger/p", "global/p"] {
        let unexpected = uploads.put_as(path, &[], b"x").await;
        assert_eq!(unexpected.status, 403, "{path}: {unexpected:?}");
        assert!(unexpected.body.contains("is not expected in this run"), "{path}: {unexpected:?}");
    }
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);
    // A large body of an unauthorized client is not read, but the response arrives.
    let large = Raw::exchange(
        &uploads.q.access,
        [put_head("by-node/n1/p", &["Content-Length: 200000"]).as_bytes(), &[b'x'; 200_000]].concat(),
    )
    .await;
    assert_eq!(large.status, 403);
}

/// All pods of a plugin have one certificate.
#[tokio::test]
async fn a_node_can_be_first_with_the_result_of_another_node_of_its_plugin_only() {
    let uploads = UploadFixture::new().await;
    let of_n1 = &uploads.p.access;
    assert_eq!(send(of_n1, "p/n2", &file("a.txt", "of n1")).await.unwrap(), Outcome::Stored);
    assert_eq!(send(&uploads.p.access, "p/n2", &file("a.txt", "of n2")).await.unwrap(), Outcome::OtherReceived);
    let error = send(of_n1, "q/global", &file("a.txt", "of n1")).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status, .. } if status == 403), "{error:?}");
}

#[tokio::test]
async fn the_certificate_of_another_run_is_worth_nothing() {
    let (uploads, other) = (UploadFixture::new().await, UploadFixture::new().await);
    let mut mixed = uploads.p.access.clone();
    mixed.client_cert.clone_from(&other.p.access.client_cert);
    mixed.client_key.clone_from(&other.p.access.client_key);
    let error = send(&mixed, "p/n1", &file("a.txt", "a")).await.unwrap_err();
    assert!(matches!(error, ClientError::Tls { .. } | ClientError::Transport { .. }), "{error:?}");
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);

    // The other way round, the worker does not trust the aggregator.
    let mut mixed = uploads.p.access.clone();
    mixed.ca_cert.clone_from(&other.p.access.ca_cert);
    let error = send(&mixed, "p/n1", &file("a.txt", "a")).await.unwrap_err();
    assert!(matches!(error, ClientError::Tls { .. }), "{error:?}");
}

#[tokio::test]
async fn plain_http_gets_no_answer() {
    let uploads = UploadFixture::new().await;
    let address = uploads.p.access.aggregator_url.strip_prefix("https://").unwrap();
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(put_head("by-node/n1/p", &["Content-Length: 0"]).as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The connection is over, whether it was reset or closed.
    let _ = tokio::time::timeout(PATIENCE, plain.read_to_end(&mut answer)).await.expect("the connection stays open");
    assert!(!answer.windows(4).any(|word| word == b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);
}

#[tokio::test]
async fn a_client_without_a_certificate_is_rejected() {
    let uploads = UploadFixture::new().await;
    let access = &uploads.p.access;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(access.ca_cert.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    // With TLS 1.3, the client only notices when it reads.
    if let Ok(mut raw) = Raw::connect_with(access, config).await {
        let _ = raw.send(put_head("by-node/n1/p", &["Content-Length: 0"])).await;
        assert_eq!(raw.rest().await, b"", "no answer at all");
    }
    assert_eq!(uploads.state_of("p/n1"), KeyState::Waiting);
}
