//! What goes wrong with lists of tests.

use std::io;

use thiserror::Error;

/// Why there is no list.
#[derive(Debug, Error)]
pub enum ListError {
    /// There is none of that version.
    #[error("there is no list of tests of {version} in {place}; there are {known}")]
    Unknown {
        /// The version that was asked for.
        version: String,
        /// Where it was looked for.
        place: String,
        /// The versions that are there, for a person.
        known: String,
    },
    /// What stands for a version is none.
    #[error("`{0}` is not a version such as `v1.30.2`")]
    Version(String),
    /// A file or a stream cannot be read.
    #[error("failed to read `{place}`")]
    Read {
        /// Which.
        place: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// It is larger than anything that is a list.
    #[error("`{place}` is larger than a list of tests can be: {limit}")]
    TooLarge {
        /// Which.
        place: String,
        /// The limit that it breaks.
        limit: &'static str,
    },
    /// It is no text.
    #[error("`{place}` is not UTF-8 text")]
    NoText {
        /// Which.
        place: String,
    },
    /// It names no test.
    #[error("`{place}` names no test")]
    Empty {
        /// Which.
        place: String,
    },
    /// A delta with something else in it.
    #[error(
        "`{place}` is told by differences to another list, and line {line} is none: a name that is added stands behind `+`, one that is removed behind `-`"
    )]
    Difference {
        /// Which.
        place: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// A delta without an end.
    #[error("the list of {version} in {place} is told by differences to others that lead {how}: {chain}")]
    Deltas {
        /// The version that was asked for.
        version: String,
        /// Where.
        place: String,
        /// In a circle, or too far.
        how: &'static str,
        /// The versions on the way.
        chain: String,
    },
}
