//! The identities of certificates that workers have presented.
//!
//! All workers of a plugin present the same certificate, and each opens a connection per request.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use plumbline_phonehome::{PeerIdentity, PeerIdentityError};
use rustls::pki_types::CertificateDer;

/// The maximum number of certificates. A run has one for each launch of a plugin.
const REMEMBERED: usize = 64;

/// Identities by certificate, oldest first.
#[derive(Default)]
pub(super) struct Identities(Mutex<VecDeque<(CertificateDer<'static>, Arc<PeerIdentity>)>>);

impl Identities {
    /// Returns the identity in a certificate that the TLS library has verified.
    pub(super) fn of(&self, certificate: &CertificateDer<'_>) -> Result<Arc<PeerIdentity>, PeerIdentityError> {
        let mut known = self.0.lock();
        if let Some((_, identity)) = known.iter().find(|(of, _)| of == certificate) {
            return Ok(Arc::clone(identity));
        }
        let identity = Arc::new(PeerIdentity::from_certificate(certificate)?);
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back((certificate.clone().into_owned(), Arc::clone(&identity)));
        Ok(identity)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use plumbline_core::{PluginName, RunId};
    use plumbline_phonehome::RunCa;
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[test]
    fn each_certificate_has_its_own_identity_however_many_there_are() {
        let ca = RunCa::generate(&RunId::random(), Duration::from_secs(3600), Timestamp::now()).unwrap();
        let identities = Identities::default();
        let certificates: Vec<_> = (0..REMEMBERED + 2)
            .map(|n| {
                let issued = ca.issue_client(&format!("p{n}").parse().unwrap()).unwrap();
                CertificateDer::from_pem_slice(issued.certificate_pem.as_bytes()).unwrap()
            })
            .collect();
        for _ in 0..2 {
            for (n, certificate) in certificates.iter().enumerate() {
                let identity = identities.of(certificate).unwrap();
                assert_eq!(identity.plugins(), [format!("p{n}").parse::<PluginName>().unwrap()]);
            }
        }
        assert_eq!(identities.0.lock().len(), REMEMBERED);
        assert!(identities.of(&CertificateDer::from(vec![7; 100])).is_err());
    }
}
