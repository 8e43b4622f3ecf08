//! Errors of keys, envelopes and policies, and of their files.

use std::io;
use std::path::{Path, PathBuf};

use crate::limits::{MAX_ENVELOPE_FILE, MAX_ENVELOPES};

/// Error while reading or writing a file of keys, signatures or rules, or while signing.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// A file is not readable.
    #[error("failed to read {what} `{path}`")]
    Read {
        /// What the file holds.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("failed to write {what} `{path}`")]
    Write {
        /// What the file holds.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file does not contain a usable key.
    #[error("invalid key `{0}`")]
    Key(PathBuf, #[source] KeyError),
    /// The key file already exists.
    #[error("`{0}` already exists: a replaced key is lost forever")]
    Exists(PathBuf),
    /// No key pair could be generated.
    #[error("failed to generate a key")]
    Generate(#[source] KeyError),
    /// The file does not contain valid attestations.
    #[error("invalid signatures `{0}`")]
    Envelopes(PathBuf, #[source] EnvelopeError),
    /// The file of attestations is full.
    #[error(
        "`{0}` is full: readers accept at most {MAX_ENVELOPES} signatures and {MAX_ENVELOPE_FILE} bytes; move it away and sign again"
    )]
    Full(PathBuf),
    /// The policy is invalid, so none of it is used. The text has the location and description of
    /// the problem.
    #[error("invalid policy `{0}`: {1}")]
    Policy(PathBuf, String),
    /// The trusted root is invalid. The text says what is wrong.
    #[error("invalid trusted root `{0}`: {1}")]
    TrustedRoot(PathBuf, String),
    /// The key could not create a signature.
    #[error("failed to sign with the key")]
    Sign(#[from] KeyError),
    /// The statement could not be serialized as JSON.
    #[error("failed to write the statement")]
    Statement(#[from] serde_json::Error),
}

impl SigningError {
    /// Returns whether the cause is this machine, not the input.
    pub fn is_systems(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Generate(_))
    }

    pub(super) fn read(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Read { what, path: path.to_owned(), source }
    }

    pub(super) fn write(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Write { what, path: path.to_owned(), source }
    }
}

/// Error for bytes that are not a usable key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is longer than any key.
    #[error("it is too long for a key: more than {0} bytes")]
    TooLong(usize),
    /// The text is not PEM, or malformed PEM.
    #[error("it is not PEM text: {0}")]
    Pem(String),
    /// The PEM text has another tag. Holds the actual and the expected tag.
    #[error("it has `{0}`, expected `{1}`")]
    Tag(String, &'static str),
    /// The text has several keys, so it is ambiguous.
    #[error("it has {0} keys: put each key into its own file")]
    Many(usize),
    /// The private key is encrypted.
    #[error(
        "the private key is encrypted (`{0}`), which is not supported: decrypt it with `openssl pkcs8`, and keep it in a secret store"
    )]
    Encrypted(String),
    /// The private key is in the older SEC 1 form.
    #[error("the private key has the SEC 1 format: convert it to PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`")]
    Sec1,
    /// The key is for another algorithm.
    #[error("it is a key for {0}: only ECDSA over P-256 is supported")]
    Algorithm(&'static str),
    /// The point of the public key is compressed.
    #[error("its point is compressed: convert the key with `openssl pkey -pubin -ec_conv_form uncompressed`")]
    Compressed,
    /// The point is not on the curve.
    #[error("its point is not on the curve P-256")]
    Point,
    /// The key is for the right algorithm, but malformed.
    #[error("it is damaged: {0}")]
    Broken(String),
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    Random,
}

/// Error while parsing envelopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// There are more of these things than the limit.
    #[error("there are more than {1} {0}")]
    TooMuch(&'static str, usize),
    /// The text is not JSON of the expected structure.
    #[error("it is neither a Sigstore bundle nor a DSSE envelope: {0}")]
    Json(String),
    /// The bundle is of an unknown version, or is something else.
    #[error("its media type is `{0}`: expected a Sigstore bundle of version 0.1, 0.2 or 0.3")]
    MediaType(String),
    /// The bundle has a signature over a file instead of an envelope.
    #[error("it has no `dsseEnvelope`: it is not an attestation")]
    NoEnvelope,
    /// The bundle does not say who signed it, or says so more than once.
    #[error(
        "its `verificationMaterial` must have exactly one of `publicKey`, `certificate` and `x509CertificateChain`"
    )]
    Signer,
    /// A string is not base64.
    #[error("`{0}` is not base64")]
    Base64(&'static str),
}
