//! A certificate and the key that belongs to it.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use pem::{EncodeConfig, LineEnding, Pem};
use rcgen::{Certificate, KeyPair};
use rustls_pki_types::CertificateDer;

use super::sec1;

/// A certificate of a run, ready to be handed to a process or put into a Secret of type `kubernetes.io/tls`.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The certificate in PEM, without its issuer: what a worker gets as `CLIENT_CERT`, and `tls.crt` of a Secret.
    pub certificate_pem: String,
    /// The key in PEM, as SEC1 (`EC PRIVATE KEY`): what a worker gets as `CLIENT_KEY`, and `tls.key` of a Secret.
    pub key_pem: String,
}

impl Issued {
    pub(super) fn new(certificate: &Certificate, key: &KeyPair) -> Result<Self, CaError> {
        let sec1 =
            sec1::from_pkcs8(key.serialized_der()).ok_or(CaError::Generate(rcgen::Error::CouldNotParseKeyPair))?;
        Ok(Self { certificate_pem: certificate_pem(certificate.der()), key_pem: encode("EC PRIVATE KEY", &sec1) })
    }
}

/// The key is left out.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issued").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// A certificate in PEM.
pub(super) fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    encode("CERTIFICATE", certificate)
}

fn encode(label: &str, der: &[u8]) -> String {
    pem::encode_config(&Pem::new(label, der), EncodeConfig::new().set_line_ending(LineEnding::LF))
}

/// Why certificates could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// Making a key or a certificate failed.
    #[error("make a certificate")]
    Generate(#[source] rcgen::Error),
    /// There were no random numbers.
    #[error("get random numbers for a certificate's serial number")]
    Random,
    /// The validity cannot be written into a certificate.
    #[error(
        "make a certificate valid from {from} for {validity:?}: it must begin after 1970 and end before the year 10000"
    )]
    Validity {
        /// When the run began.
        from: Timestamp,
        /// How long its certificates were to be valid.
        validity: Duration,
    },
    /// The server would have no name.
    #[error("make a certificate for the aggregator: it has no address")]
    NoHost,
    /// An address of the server cannot stand in a certificate.
    #[error("make a certificate for `{0}`: it is neither a DNS name nor an IP address (without a port)")]
    Host(String),
    /// The stored authority cannot be read.
    #[error("read the CA of the run: {0}")]
    Stored(&'static str),
}
