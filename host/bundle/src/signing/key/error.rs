//! Errors of keys and key files.

use std::io;
use std::path::PathBuf;

/// Error for bytes that are not a usable key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is longer than any key.
    #[error("it is longer than {0} bytes, which no key is")]
    TooLong(usize),
    /// The text is not PEM, or malformed PEM.
    #[error("it is not PEM text: {0}")]
    Pem(String),
    /// The PEM text has another tag.
    #[error("it holds `{found}`, not `{wanted}`")]
    Tag {
        /// The expected tag.
        wanted: &'static str,
        /// The actual tag.
        found: String,
    },
    /// The text has several keys, so it is ambiguous.
    #[error("it holds {0} keys: put each into a file of its own")]
    Many(usize),
    /// The private key is encrypted.
    #[error(
        "the private key is encrypted (`{0}`), and encrypted keys are not read: keep the plain key in a secret store, or decrypt it with `openssl pkcs8`"
    )]
    Encrypted(String),
    /// The private key is in the older SEC 1 form.
    #[error("the private key is in the form of SEC 1: turn it into PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`")]
    Sec1,
    /// The key is for another algorithm.
    #[error("it is a key for {0}; only ECDSA over P-256 is used")]
    Algorithm(&'static str),
    /// The point of the public key is compressed.
    #[error("its point is compressed: write it out with `openssl pkey -pubin -ec_conv_form uncompressed`")]
    Compressed,
    /// The point is not on the curve.
    #[error("its point is not on the curve P-256")]
    Point,
    /// The key is for the right algorithm, but malformed.
    #[error("it is broken: {0}")]
    Broken(String),
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    Random,
}

/// Error while reading or writing a key file.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file is not readable.
    #[error("failed to read key `{path}`")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file does not contain a usable key.
    #[error("invalid key `{path}`")]
    Key {
        /// Path of the file.
        path: PathBuf,
        /// The underlying error.
        source: KeyError,
    },
    /// The file already exists.
    #[error("`{0}` already exists, and a key that is gone cannot be made again")]
    Exists(PathBuf),
    /// The file could not be written.
    #[error("failed to write key `{path}`")]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// No key pair could be generated.
    #[error("failed to generate a key")]
    Generate(#[source] KeyError),
}
