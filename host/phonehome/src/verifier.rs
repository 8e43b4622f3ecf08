//! A verifier for client certificates that caches accepted certificates.
//!
//! All workers of a plugin present the same certificate, and each verification of the CA's
//! signature costs an ECDSA operation.
//!
//! # Why this is safe
//!
//! * Only *who signed the certificate* is cached. The peer proves that it has the key by its
//!   signature over the handshake. That signature is verified every time, because
//!   [`ClientCertVerifier::verify_tls13_signature`] is passed to the inner verifier.
//! * The cache compares the whole certificate byte by byte, not a digest or a name. Any other
//!   certificate is verified in full.
//! * A cached certificate is only accepted within its validity. Outside of it, the inner verifier
//!   decides, and rejects it.
//! * Roots are fixed on creation, and there are no revocation lists. The answer cannot change while
//!   this value lives.
//! * Only verified certificates are cached, so a client without one cannot fill the cache. Its size
//!   is limited anyway.
//! * Chains with intermediate certificates are never cached, because the CA of a run signs
//!   directly.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

/// The maximum number of cached certificates. A run has one for each launch of a plugin. The oldest
/// one is evicted.
const REMEMBERED: usize = 64;

/// A verifier that caches the certificates that the inner verifier has accepted.
#[derive(Debug)]
pub(crate) struct CachingVerifier {
    inside: Arc<dyn ClientCertVerifier>,
    accepted: RwLock<VecDeque<Accepted>>,
}

/// A verified certificate with its validity, in seconds since 1970.
#[derive(Debug)]
struct Accepted {
    certificate: CertificateDer<'static>,
    from: i64,
    until: i64,
}

impl Accepted {
    /// Returns `None` if the validity cannot be parsed. The certificate is then verified each time.
    fn new(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = x509_parser::parse_x509_certificate(certificate).ok()?;
        let validity = parsed.validity();
        let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        Some(Self { certificate: certificate.clone().into_owned(), from, until })
    }

    fn covers(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> bool {
        let Ok(now) = i64::try_from(now.as_secs()) else { return false };
        self.from <= now && now <= self.until && self.certificate == *certificate
    }
}

impl CachingVerifier {
    pub(crate) fn new(inside: Arc<dyn ClientCertVerifier>) -> Self {
        Self { inside, accepted: RwLock::default() }
    }

    fn knows(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> bool {
        let accepted = self.accepted.read().unwrap_or_else(PoisonError::into_inner);
        accepted.iter().any(|accepted| accepted.covers(certificate, now))
    }

    fn remember(&self, certificate: &CertificateDer<'_>) {
        let Some(new) = Accepted::new(certificate) else { return };
        let mut accepted = self.accepted.write().unwrap_or_else(PoisonError::into_inner);
        // Two concurrent handshakes may present the same new certificate.
        if accepted.iter().any(|known| known.certificate == new.certificate) {
            return;
        }
        if accepted.len() >= REMEMBERED {
            accepted.pop_front();
        }
        accepted.push_back(new);
    }
}

impl ClientCertVerifier for CachingVerifier {
    fn offer_client_auth(&self) -> bool {
        self.inside.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inside.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inside.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if intermediates.is_empty() && self.knows(end_entity, now) {
            return Ok(ClientCertVerified::assertion());
        }
        let verified = self.inside.verify_client_cert(end_entity, intermediates, now)?;
        if intermediates.is_empty() {
            self.remember(end_entity);
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inside.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inside.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inside.supported_verify_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.inside.requires_raw_public_keys()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use plumbline_core::RunId;
    use rustls::RootCertStore;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::server::WebPkiClientVerifier;

    use super::*;
    use crate::ca::RunCa;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Returns a verifier that accepts the certificates of `ca`.
    fn inside(ca: &RunCa) -> Arc<dyn ClientCertVerifier> {
        let mut roots = RootCertStore::empty();
        roots.add(ca.certificate().clone()).unwrap();
        let provider = Arc::new(ring::default_provider());
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap()
    }

    struct Bed {
        verifier: CachingVerifier,
        ca: RunCa,
        now: Timestamp,
    }

    fn authority(now: Timestamp) -> RunCa {
        RunCa::generate(&RunId::random(), HOUR, now).unwrap()
    }

    fn client(ca: &RunCa, plugin: &str) -> CertificateDer<'static> {
        let issued = ca.issue_client(&plugin.parse().unwrap()).unwrap();
        CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap()
    }

    impl Bed {
        fn new() -> Self {
            let now = Timestamp::now();
            let ca = authority(now);
            Self { verifier: CachingVerifier::new(inside(&ca)), ca, now }
        }

        fn verify(&self, certificate: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>], later: i64) -> bool {
            let seconds = u64::try_from(self.now.as_second() + later).unwrap();
            let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            self.verifier.verify_client_cert(certificate, intermediates, at).is_ok()
        }

        /// Replaces the inner verifier by one that rejects all certificates of this run.
        fn accept_only_cached(&mut self) {
            self.verifier.inside = inside(&authority(self.now));
        }

        fn cached(&self) -> usize {
            self.verifier.accepted.read().unwrap().len()
        }
    }

    #[test]
    fn a_certificate_is_verified_once_however_many_workers_show_it() {
        let mut bed = Bed::new();
        let (first, second) = (client(&bed.ca, "first"), client(&bed.ca, "second"));
        assert!(bed.verify(&first, &[], 0) && bed.verify(&second, &[], 0));
        bed.accept_only_cached();
        for _ in 0..5 {
            assert!(bed.verify(&first, &[], 0) && bed.verify(&second, &[], 0));
        }
        assert!(!bed.verify(&client(&bed.ca, "third"), &[], 0));
    }

    #[test]
    fn a_certificate_that_was_remembered_is_refused_once_it_is_over_and_before_it_begins() {
        let bed = Bed::new();
        let certificate = client(&bed.ca, "first");
        assert!(bed.verify(&certificate, &[], 0));
        let day = 24 * 3600;
        assert!(!bed.verify(&certificate, &[], 30 * day) && !bed.verify(&certificate, &[], -30 * day));
        assert!(bed.verify(&certificate, &[], 0));
    }

    #[test]
    fn a_certificate_of_another_ca_is_rejected_each_time_and_not_cached() {
        let bed = Bed::new();
        assert!(bed.verify(&client(&bed.ca, "first"), &[], 0));
        let stranger = client(&authority(bed.now), "first");
        for _ in 0..3 {
            assert!(!bed.verify(&stranger, &[], 0));
        }
        assert_eq!(bed.cached(), 1);
    }

    #[test]
    fn one_changed_byte_makes_another_certificate() {
        let bed = Bed::new();
        let certificate = client(&bed.ca, "first");
        assert!(bed.verify(&certificate, &[], 0));
        for at in [certificate.len() / 2, certificate.len() - 1] {
            let mut bytes = certificate.to_vec();
            bytes[at] ^= 1;
            assert!(!bed.verify(&CertificateDer::from(bytes), &[], 0), "byte {at}");
        }
    }

    #[test]
    fn chains_are_verified_each_time() {
        let mut bed = Bed::new();
        let (certificate, more) = (client(&bed.ca, "first"), [client(&bed.ca, "second")]);
        assert!(bed.verify(&certificate, &more, 0));
        assert_eq!(bed.cached(), 0);
        assert!(bed.verify(&certificate, &[], 0));
        bed.accept_only_cached();
        assert!(!bed.verify(&certificate, &more, 0));
    }

    #[test]
    fn the_memory_is_bounded() {
        let bed = Bed::new();
        for n in 0..=REMEMBERED {
            assert!(bed.verify(&client(&bed.ca, &format!("p{n}")), &[], 0));
        }
        assert_eq!(bed.cached(), REMEMBERED);
    }
}
