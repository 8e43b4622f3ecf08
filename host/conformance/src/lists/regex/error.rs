//! What is wrong with an expression, and where.

use thiserror::Error;

/// Characters of the faulty part that a message shows.
const SHOWN: usize = 40;

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GoRegexError {
    /// Go refuses it.
    #[error("`{part}` at character {at}: {what}")]
    Syntax {
        /// What is wrong.
        what: &'static str,
        /// The part of the expression that is wrong; what is long is cut.
        part: String,
        /// The character at which it begins, counted from 1.
        at: usize,
    },
    /// Longer than [`MAX_PATTERN`](super::MAX_PATTERN).
    #[error("it has {bytes} bytes, and at most {limit} are taken")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The most.
        limit: usize,
    },
    /// Compiled, it would need more memory than [`MAX_PROGRAM`](super::MAX_PROGRAM).
    #[error("compiled, it would need more than {limit} bytes of memory")]
    TooLarge {
        /// The most.
        limit: usize,
    },
    /// Go takes it and this program does not.
    #[error("this program cannot express it: {0}")]
    Inexpressible(String),
}

/// A fault while an expression is read: what, and which bytes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) what: &'static str,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Fault {
    /// For a person.
    pub(super) fn told(self, pattern: &str) -> GoRegexError {
        let at = pattern.get(..self.from).map_or(0, |before| before.chars().count()) + 1;
        let whole = pattern.get(self.from..self.to).unwrap_or_default();
        let mut part: String = whole.chars().take(SHOWN).collect();
        if part.len() < whole.len() {
            part.push('…');
        }
        GoRegexError::Syntax { what: self.what, part, at }
    }
}
