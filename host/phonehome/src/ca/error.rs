//! Why there is no certificate.

use std::time::Duration;

use jiff::Timestamp;

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
    #[error("read the certificate authority of the run: {0}")]
    Stored(&'static str),
}
