//! The rustls configurations of both ends of a connection.
//!
//! A program that uses this crate need not install a crypto provider.

use std::sync::Arc;

use jiff::Timestamp;
use plumbline_core::PluginName;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ClientConfig, NamedGroup, RootCertStore, ServerConfig, SupportedProtocolVersion};
use x509_parser::extensions::GeneralName;

use crate::ca::{Issued, RunCa};
use crate::verifier::CachingVerifier;

/// The protocol inside TLS on both ends.
const ALPN: &[u8] = b"http/1.1";

const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// The number of tickets that a TLS 1.3 connection receives, at the cost of keys and random
/// numbers. Of two connections at once, the second one makes a full handshake and leaves two
/// tickets.
const TICKETS: usize = 1;

/// The session cache size of a client, the smallest that rustls supports.
const CLIENT_SESSIONS: usize = 8;

/// Error while creating a TLS configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsConfigError {
    /// A string is not the expected PEM.
    #[error("read {what}")]
    Pem {
        /// What could not be read.
        what: &'static str,
        /// The reason.
        #[source]
        source: pem::Error,
    },
    /// A certificate or key is damaged or unsupported, or the two do not match.
    #[error("use {what}")]
    Unusable {
        /// What cannot be used.
        what: &'static str,
        /// The reason.
        #[source]
        source: rustls::Error,
    },
    /// The CA cannot be used to verify workers.
    #[error("verify workers with the CA of the run")]
    Verifier(#[from] rustls::client::VerifierBuilderError),
    /// There were no random numbers for the keys of session tickets.
    #[error("make keys for session tickets")]
    Tickets(#[source] rustls::Error),
}

/// Returns the configuration of the server. It requires a client certificate that is signed by the
/// CA of this run, and uses TLS 1.2 and 1.3 and HTTP/1.1.
///
/// Sessions are resumed by tickets, so workers that reconnect cost neither signatures nor memory.
/// The CA's signature is verified once per certificate, and the possession of the key in every full
/// handshake.
///
/// The ticket keys exist only in this value. A resumed session has the certificate of the first
/// one.
///
/// # Errors
/// Returns an error if the certificate or its key cannot be read.
pub fn server_config(ca: &RunCa, certificate: &Issued) -> Result<ServerConfig, TlsConfigError> {
    let provider = provider();
    let mut roots = RootCertStore::empty();
    let unusable = |what| move |source| TlsConfigError::Unusable { what, source };
    roots.add(ca.certificate().clone()).map_err(unusable("the CA certificate"))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;

    let chain = certificates(&certificate.certificate_pem, "the certificate of the aggregator")?;
    let key = private_key(&certificate.key_pem, "the key of the aggregator")?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&VERSIONS)
        .map_err(unusable("TLS 1.2 and 1.3"))?
        .with_client_cert_verifier(Arc::new(CachingVerifier::new(verifier)))
        .with_single_cert(chain, key)
        .map_err(unusable("the certificate of the aggregator"))?;
    // The preference of the server applies, because it makes thousands of handshakes.
    config.ignore_client_order = true;
    config.ticketer = ring::Ticketer::new().map_err(TlsConfigError::Tickets)?;
    config.send_tls13_tickets = TICKETS;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// Returns the configuration of a client, which trusts only `ca_pem` and presents
/// `certificate_pem`. The key may be SEC1, PKCS#8 or PKCS#1. As with a Sonobuoy aggregator, the
/// server's certificate may have the same distinguished name as the CA.
///
/// # Errors
/// Returns an error if a string is not PEM, if a certificate or the key is damaged, or if these two
/// do not match.
pub fn client_config(ca_pem: &str, certificate_pem: &str, key_pem: &str) -> Result<ClientConfig, TlsConfigError> {
    let mut roots = RootCertStore::empty();
    let unusable = |what| move |source| TlsConfigError::Unusable { what, source };
    for ca in certificates(ca_pem, "the CA certificate")? {
        roots.add(ca).map_err(unusable("the CA certificate"))?;
    }
    let chain = certificates(certificate_pem, "the client certificate")?;
    let key = private_key(key_pem, "the client key")?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&VERSIONS)
        .map_err(unusable("TLS 1.2 and 1.3"))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(unusable("the client certificate and its key"))?;
    config.resumption = Resumption::in_memory_sessions(CLIENT_SESSIONS);
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(config)
}

/// Returns when the first certificate in `pem` expires, or `None` if it cannot be read. Workers have
/// certificates that outlive their run.
pub fn certificate_expiry(pem: &str) -> Option<Timestamp> {
    Timestamp::from_second(validity(pem)?.1).ok()
}

/// Returns when the first certificate in a PEM text becomes valid, or `None` if the text has no
/// readable one. That of a run does so [`CLOCK_SKEW`](crate::CLOCK_SKEW) before the run starts, so no
/// file of the run is older.
pub fn certificate_start(pem: &str) -> Option<Timestamp> {
    Timestamp::from_second(validity(pem)?.0).ok()
}

/// Returns the seconds since 1970 at which the first certificate becomes valid and expires.
fn validity(pem: &str) -> Option<(i64, i64)> {
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).ok()?;
    let validity = parsed.validity();
    Some((validity.not_before.timestamp(), validity.not_after.timestamp()))
}

/// The plugins for which the holder of a certificate may act, according to its DNS names.
///
/// This is only meaningful for a certificate that the TLS library has verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerIdentity {
    plugins: Vec<PluginName>,
}

/// Error while reading a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("read the certificate of the worker")]
pub struct PeerIdentityError;

impl PeerIdentity {
    /// Reads the certificate that a peer has presented. Names that are not valid plugin names are
    /// ignored.
    ///
    /// # Errors
    /// Returns an error if the data is not a certificate, or if its names cannot be read.
    pub fn from_certificate(certificate: &CertificateDer<'_>) -> Result<Self, PeerIdentityError> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).map_err(|_| PeerIdentityError)?;
        let names = parsed.subject_alternative_name().map_err(|_| PeerIdentityError)?;
        let plugins = names
            .iter()
            .flat_map(|extension| &extension.value.general_names)
            .filter_map(|name| match name {
                GeneralName::DNSName(name) => name.parse().ok(),
                _ => None,
            })
            .collect();
        Ok(Self { plugins })
    }

    /// Returns the plugins. Certificates of [`RunCa::issue_client`] have exactly one.
    pub fn plugins(&self) -> &[PluginName] {
        &self.plugins
    }

    /// Returns whether the peer may act for `plugin`. If not, respond with 403.
    pub fn may_act_for(&self, plugin: &PluginName) -> bool {
        self.plugins.contains(plugin)
    }
}

/// Returns the crypto provider with reordered preferences.
///
/// Cipher suites with SHA-256 come first: CPUs have instructions for it, a TLS 1.3 handshake hashes
/// dozens of times, and the provider prefers SHA-384. AES-128 with SHA-256 is mandatory (RFC 8446,
/// section 9.1).
///
/// P-256 is the first key exchange: it is mandatory, faster here than X25519, and the curve of the
/// certificates, so a waiting worker has one curve in memory. The client chooses the key exchange.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| {
        !matches!(
            suite.suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
                | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        )
    });
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::secp256r1);
    Arc::new(provider)
}

fn certificates(text: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let wrong = |source| TlsConfigError::Pem { what, source };
    let found = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if found.is_empty() {
        return Err(wrong(pem::Error::NoItemsFound));
    }
    Ok(found)
}

fn private_key(text: &str, what: &'static str) -> Result<PrivateKeyDer<'static>, TlsConfigError> {
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|source| TlsConfigError::Pem { what, source })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use plumbline_core::RunId;
    use rustls::pki_types::ServerName;
    use rustls::{ClientConnection, HandshakeKind, ServerConnection};

    use super::*;

    #[test]
    fn the_cheap_suites_and_exchanges_come_first_and_none_is_lost() {
        let (ours, theirs) = (provider(), ring::default_provider());
        let names: Vec<_> = ours.cipher_suites.iter().map(|suite| suite.suite()).collect();
        assert_eq!(names[0], CipherSuite::TLS13_AES_128_GCM_SHA256);
        assert_eq!(names.len(), theirs.cipher_suites.len());
        assert!(theirs.cipher_suites.iter().all(|suite| names.contains(&suite.suite())));
        let groups: Vec<_> = ours.kx_groups.iter().map(|group| group.name()).collect();
        assert_eq!(groups, [NamedGroup::secp256r1, NamedGroup::X25519, NamedGroup::secp384r1]);
    }

    /// Transfers the output of each end to the other, until neither has more.
    fn talk(client: &mut ClientConnection, server: &mut ServerConnection) {
        while client.wants_write() || server.wants_write() {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut wire = wire.as_slice();
            while !wire.is_empty() {
                server.read_tls(&mut wire).unwrap();
                server.process_new_packets().unwrap();
            }
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut wire = wire.as_slice();
            while !wire.is_empty() {
                client.read_tls(&mut wire).unwrap();
                client.process_new_packets().unwrap();
            }
        }
    }

    #[test]
    fn each_connection_leaves_one_ticket_for_the_next_and_two_at_once_leave_two() {
        let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now()).unwrap();
        let server = Arc::new(server_config(&ca, &ca.issue_server(&["127.0.0.1".to_owned()]).unwrap()).unwrap());
        let worker = ca.issue_client(&"e2e".parse().unwrap()).unwrap();
        let client = Arc::new(client_config(ca.certificate_pem(), &worker.certificate_pem, &worker.key_pem).unwrap());
        let begin = || {
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let client = ClientConnection::new(Arc::clone(&client), name).unwrap();
            (client, ServerConnection::new(Arc::clone(&server)).unwrap())
        };
        let end = |(mut client, mut server): (ClientConnection, ServerConnection)| {
            talk(&mut client, &mut server);
            assert_eq!(client.tls13_tickets_received(), 1);
            let group = client.negotiated_key_exchange_group().unwrap().name();
            assert_eq!(group, NamedGroup::secp256r1);
            client.handshake_kind().unwrap()
        };
        let (full, resumed) = (HandshakeKind::Full, HandshakeKind::Resumed);
        assert_eq!([end(begin()), end(begin()), end(begin())], [full, resumed, resumed]);
        let at_once = [begin(), begin()];
        assert_eq!(at_once.map(end), [resumed, full]);
        let at_once = [begin(), begin()];
        assert_eq!(at_once.map(end), [resumed, resumed]);
    }

    #[test]
    fn a_client_that_begins_with_another_exchange_gets_it() {
        let ca = RunCa::generate(&RunId::random(), RunCa::validity_for(None), Timestamp::now()).unwrap();
        let server = server_config(&ca, &ca.issue_server(&["127.0.0.1".to_owned()]).unwrap()).unwrap();
        let worker = ca.issue_client(&"e2e".parse().unwrap()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(ca.certificate().clone()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                certificates(&worker.certificate_pem, "").unwrap(),
                private_key(&worker.key_pem, "").unwrap(),
            )
            .unwrap();
        let mut client = ClientConnection::new(Arc::new(client), ServerName::try_from("127.0.0.1").unwrap()).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        talk(&mut client, &mut server);
        assert_eq!(client.negotiated_key_exchange_group().unwrap().name(), NamedGroup::X25519);
        // The server did not request a second ClientHello, which would cost a round trip.
        assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full));
    }
}
