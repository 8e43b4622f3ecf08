//! Measures the cost of TLS handshakes for the aggregator, and of their parts. Both ends are in
//! memory, and only the server's part is measured. Each result is the median of single handshakes,
//! because other activity of the machine makes a few of them slow.

use plumbline_dev::Result;
use plumbline_phonehome::{Issued, RunCa, client_config, server_config};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig, ServerConnection, SignatureScheme,
};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bench::receiver::{authority, chain_and_key};
use crate::bench::tools::{median, median_of, print_table};

const HANDSHAKES: usize = 1_000;
/// Number of workers of 5,000 nodes with two plugins: each makes one full handshake.
const WORKERS: f64 = 10_000.0;

pub(crate) fn measure(runs: usize) -> Result<()> {
    let (ca, server, client) = authority()?;
    let ours = Arc::new(server_config(&ca, &server)?);
    let plain = Arc::new(verifying_each_time(&ca, &server)?);
    let plain_client = Arc::new(client_by_itself(&ca, &client)?);
    let resuming = client_config(ca.certificate_pem(), &client.certificate_pem, &client.key_pem)?;
    let mut fresh = resuming.clone();
    // A worker's first connection has no session to resume.
    fresh.resumption = Resumption::disabled();
    let fresh = Arc::new(fresh);
    let resuming = Arc::new(resuming);
    // Client certificates are always verified, SHA-384, X25519, two tickets.
    let parts: [(&str, &dyn Fn() -> Result<f64>); 7] = [
        ("full, as rustls does it by itself", &|| handshakes(&plain_client, &plain)),
        ("full, as the aggregator does it", &|| handshakes(&fresh, &ours)),
        ("resumed by a ticket", &|| handshakes(&resuming, &ours)),
        ("of which: one verification (ECDSA P-256)", &|| verifications(&client)),
        ("of which: one signature (ECDSA P-256)", &|| signatures(&client)),
        ("of which: one key exchange (P-256)", &|| exchanges(NamedGroup::secp256r1)),
        ("in its place for other clients: X25519", &|| exchanges(NamedGroup::X25519)),
    ];
    let mut measured = parts.map(|_| Vec::new());
    for _ in 0..runs.max(1) {
        for ((_, measure), times) in parts.iter().zip(&mut measured) {
            times.push(measure()?);
        }
    }
    let rows = parts.iter().zip(&measured).map(|((what, _), times)| {
        let seconds = median(times);
        [(*what).to_owned(), format!("{:.0} µs", seconds * 1e6), format!("{:.2} s", seconds * WORKERS)]
    });
    let rows: Vec<_> = rows.collect();
    let title = format!("Handshakes at the server (median of {runs} × {HANDSHAKES})");
    print_table(&title, ["what", "each", "10,000 of them, one core"], &rows);
    Ok(())
}

/// Returns the server's default configuration of rustls. It caches nothing except in tickets.
fn verifying_each_time(ca: &RunCa, certificate: &Issued) -> Result<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(ca)?), provider()).build()?;
    let (chain, key) = chain_and_key(certificate)?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)?;
    config.ignore_client_order = true;
    config.ticketer = ring::Ticketer::new()?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns the client's default configuration of rustls, without a session to resume.
fn client_by_itself(ca: &RunCa, certificate: &Issued) -> Result<ClientConfig> {
    let (chain, key) = chain_and_key(certificate)?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(ca)?)
        .with_client_auth_cert(chain, key)?;
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(ca: &RunCa) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(ca.certificate().clone())?;
    Ok(roots)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Returns the server's cost of one handshake in seconds of one core.
fn handshakes(client_side: &Arc<ClientConfig>, server_side: &Arc<ServerConfig>) -> Result<f64> {
    // The first handshake has no ticket and no cache.
    handshake(client_side, server_side)?;
    median_of(HANDSHAKES, || Ok(handshake(client_side, server_side)?.as_secs_f64()))
}

fn handshake(client_side: &Arc<ClientConfig>, server_side: &Arc<ServerConfig>) -> Result<Duration> {
    let mut spent = Duration::ZERO;
    let mut client = ClientConnection::new(Arc::clone(client_side), ServerName::try_from("127.0.0.1")?)?;
    let mut server = ServerConnection::new(Arc::clone(server_side))?;
    // Do one more round at the end, because tickets follow the handshake.
    let mut rounds_left = 2;
    while rounds_left > 0 {
        if !client.is_handshaking() && !server.is_handshaking() {
            rounds_left -= 1;
        }
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire)?;
        }
        let start = Instant::now();
        feed(&wire, |wire| {
            server.read_tls(wire)?;
            server.process_new_packets()?;
            Ok(())
        })?;
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer)?;
        }
        spent += start.elapsed();
        feed(&answer, |wire| {
            client.read_tls(wire)?;
            client.process_new_packets()?;
            Ok(())
        })?;
    }
    Ok(spent)
}

fn feed(mut wire: &[u8], mut read: impl FnMut(&mut dyn io::Read) -> Result<()>) -> Result<()> {
    while !wire.is_empty() {
        read(&mut wire)?;
    }
    Ok(())
}

/// The content that a handshake signs: 64 spaces, a label, and a hash of the transcript.
const SIGNED: [u8; 130] = [0x20; 130];

fn signatures(issued: &Issued) -> Result<f64> {
    let key = signing_key(issued)?;
    let signer = key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]).ok_or("no ECDSA")?;
    each(|| signer.sign(&SIGNED).map(drop).map_err(Into::into))
}

fn verifications(issued: &Issued) -> Result<f64> {
    let key = signing_key(issued)?;
    let signer = key.choose_scheme(&[SignatureScheme::ECDSA_NISTP256_SHA256]).ok_or("no ECDSA")?;
    let signature = signer.sign(&SIGNED)?;
    let public = key.public_key().ok_or("no public key")?;
    // The point is at the end of the encoded key: one byte for its form, and two coordinates.
    let point = public.len().checked_sub(65).and_then(|at| public.get(at..)).ok_or("no point")?;
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms.mapping;
    let (_, algorithms) =
        algorithms.iter().find(|(scheme, _)| *scheme == SignatureScheme::ECDSA_NISTP256_SHA256).ok_or("no ECDSA")?;
    let algorithm = algorithms.first().ok_or("no ECDSA")?;
    each(|| algorithm.verify_signature(point, &SIGNED, &signature).map_err(|_| "a good signature was refused".into()))
}

fn exchanges(name: NamedGroup) -> Result<f64> {
    let provider = provider();
    let group = provider.kx_groups.iter().find(|group| group.name() == name).ok_or("no such exchange")?;
    let other = group.start()?.pub_key().to_vec();
    each(|| group.start_and_complete(&other).map(drop).map_err(Into::into))
}

fn signing_key(issued: &Issued) -> Result<Arc<dyn rustls::sign::SigningKey>> {
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes())?;
    Ok(provider().key_provider.load_private_key(key)?)
}

/// Returns the time of one call in seconds.
fn each(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    median_of(HANDSHAKES, || {
        let start = Instant::now();
        call()?;
        Ok(start.elapsed().as_secs_f64())
    })
}
