//! Why a key cannot be used.

use std::io;
use std::path::PathBuf;

/// Why bytes are no key that is used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// More bytes than any key has.
    #[error("it is longer than {0} bytes, which no key is")]
    TooLong(usize),
    /// Not PEM, or broken PEM.
    #[error("it is not PEM text: {0}")]
    Pem(String),
    /// PEM of something else.
    #[error("it holds `{found}`, not `{wanted}`")]
    Tag {
        /// The tag that a key of this kind has.
        wanted: &'static str,
        /// The tag that is there.
        found: String,
    },
    /// Which of several keys is meant, nobody can say.
    #[error("it holds {0} keys: put each into a file of its own")]
    Many(usize),
    /// A private key that is encrypted.
    #[error(
        "the private key is encrypted (`{0}`), and encrypted keys are not read: keep the plain key in a secret store, or decrypt it with `openssl pkcs8`"
    )]
    Encrypted(String),
    /// A private key in the older form.
    #[error("the private key is in the form of SEC 1: turn it into PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`")]
    Sec1,
    /// A key of another algorithm.
    #[error("it is a key for {0}; only ECDSA over P-256 is used")]
    Algorithm(&'static str),
    /// A public key whose point is compressed.
    #[error("its point is compressed: write it out with `openssl pkey -pubin -ec_conv_form uncompressed`")]
    Compressed,
    /// A point that is none of the curve.
    #[error("its point is not on the curve P-256")]
    Point,
    /// The right algorithm, and broken all the same.
    #[error("it is broken: {0}")]
    Broken(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

/// Why a key file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("failed to read key `{path}`")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file holds no key that can be used.
    #[error("invalid key `{path}`")]
    Key {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: KeyError,
    },
    /// The file is there already.
    #[error("`{0}` already exists, and a key that is gone cannot be made again")]
    Exists(PathBuf),
    /// The file cannot be written.
    #[error("failed to write key `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No key can be made.
    #[error("no key can be made")]
    Generate(#[source] KeyError),
}
