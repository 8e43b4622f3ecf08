//! Errors of test lists.

use std::io;

use thiserror::Error;

/// Error while reading a test list.
#[derive(Debug, Error)]
pub enum ListError {
    /// There is no list for this version.
    #[error("there is no list of tests of {version} in {place}; there are {known}")]
    Unknown {
        /// The requested version.
        version: String,
        /// Where the list was searched.
        place: String,
        /// The available versions, for messages.
        known: String,
    },
    /// The string is not a valid version.
    #[error("`{0}` is not a version such as `v1.30.2`")]
    Version(String),
    /// A file or a stream is not readable.
    #[error("failed to read `{place}`")]
    Read {
        /// Name of the file or stream.
        place: String,
        /// The underlying I/O error.
        #[source]
        error: io::Error,
    },
    /// The input exceeds a limit for lists.
    #[error("`{place}` is larger than a list of tests can be: {limit}")]
    TooLarge {
        /// Name of the file or stream.
        place: String,
        /// The exceeded limit.
        limit: &'static str,
    },
    /// The input is not text.
    #[error("`{place}` is not UTF-8 text")]
    NoText {
        /// Name of the file or stream.
        place: String,
    },
    /// The list has no tests.
    #[error("`{place}` names no test")]
    Empty {
        /// Name of the file or stream.
        place: String,
    },
    /// A delta has an invalid line.
    #[error(
        "`{place}` is a delta, and line {line} is invalid: expected `+NAME` for a test that is added, `-NAME` for one that is removed"
    )]
    Difference {
        /// Name of the file or stream.
        place: String,
        /// Line number, starting at 1.
        line: usize,
    },
    /// A chain of deltas does not end at a full list.
    #[error("the list of {version} in {place} is a delta of others that lead {how}: {chain}")]
    Deltas {
        /// The requested version.
        version: String,
        /// Where the lists are.
        place: String,
        /// `in a circle` or `too far`.
        how: &'static str,
        /// The versions in the chain.
        chain: String,
    },
}
