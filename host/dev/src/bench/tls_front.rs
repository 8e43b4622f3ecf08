//! TLS in front of an API double, so that a client behaves as with a real server: certificates,
//! sessions, a token.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use plumbline_core::RunId;
use plumbline_dev::ApiDouble;
use plumbline_dev::Result;
use plumbline_phonehome::RunCa;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Starts to listen, and writes a kubeconfig for the server behind it to `dir`. It serves as long
/// as the runtime lives.
pub(crate) async fn start(double: &ApiDouble, dir: &Path) -> Result<PathBuf> {
    let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now())?;
    let server = ca.issue_server(&["127.0.0.1".to_owned()])?;
    let chain = vec![CertificateDer::from_pem_slice(server.certificate_pem.as_bytes())?];
    let key = PrivateKeyDer::from_pem_slice(server.key_pem.as_bytes())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let behind: SocketAddr = double.url().trim_start_matches("http://").parse()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), behind));

    let authority = serde_json::to_value(ByteString(ca.certificate_pem().as_bytes().to_vec()))?;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "front",
        "clusters": [{"name": "front", "cluster": {"server": format!("https://{address}"), "certificate-authority-data": authority}}],
        "users": [{"name": "front", "user": {"token": "not-looked-at"}}],
        "contexts": [{"name": "front", "context": {"cluster": "front", "user": "front"}}],
    });
    let path = dir.join("kubeconfig");
    std::fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, behind: SocketAddr) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut tls) = acceptor.accept(stream).await else { return };
            let Ok(mut plain) = TcpStream::connect(behind).await else { return };
            // Both ends notice an error.
            let _ = copy_bidirectional(&mut tls, &mut plain).await;
        });
    }
}
