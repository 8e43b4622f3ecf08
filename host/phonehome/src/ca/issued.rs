//! A certificate with its key.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{Certificate, KeyPair};
use rustls_pki_types::CertificateDer;

use super::sec1;

/// A certificate of a run with its key, for a process or a Secret of type `kubernetes.io/tls`.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The certificate in PEM, without its issuer: `CLIENT_CERT` of a worker, and `tls.crt` of a
    /// Secret.
    pub certificate_pem: String,
    /// The key in PEM, as SEC1 (`EC PRIVATE KEY`): `CLIENT_KEY` of a worker, and `tls.key` of a
    /// Secret.
    pub key_pem: String,
}

impl Issued {
    pub(super) fn new(certificate: &Certificate, key: &KeyPair) -> Result<Self, CaError> {
        let sec1 =
            sec1::from_pkcs8(key.serialized_der()).ok_or(CaError::Generate(rcgen::Error::CouldNotParseKeyPair))?;
        Ok(Self { certificate_pem: certificate_pem(certificate.der()), key_pem: encode("EC PRIVATE KEY", &sec1) })
    }
}

/// Formats the certificate without its key.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// Encodes a certificate as PEM.
pub(super) fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    encode("CERTIFICATE", certificate)
}

fn encode(label: &str, der: &[u8]) -> String {
    pem::encode_config(&Pem::new(label, der), EncodeConfig::new().set_line_ending(LineEnding::LF))
}

/// Error while creating or reading certificates.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A key or certificate could not be created.
    #[error("make a certificate")]
    Generate(#[source] rcgen::Error),
    /// The system provided no random numbers.
    #[error("get random numbers for a certificate's serial number")]
    Random,
    /// The validity cannot be expressed in a certificate.
    #[error(
        "make a certificate valid from {from} for {validity:?}: it must begin after 1970 and end before the year 10000"
    )]
    Validity {
        /// When the run started.
        from: Timestamp,
        /// The requested validity.
        validity: Duration,
    },
    /// The certificate of the server would have no host.
    #[error("make a certificate for the aggregator: it has no address")]
    NoHost,
    /// A host of the server cannot be part of a certificate.
    #[error("make a certificate for `{0}`: it is neither a DNS name nor an IP address (without a port)")]
    Host(String),
    /// The stored CA cannot be read.
    #[error("read the CA of the run: {0}")]
    Stored(&'static str),
}
