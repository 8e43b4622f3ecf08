//! The status of an item.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text;

/// The maximum number of counts that a brief status lists.
const MAX_COUNTS: usize = 10;

/// The text of [`Status::NotRead`]. A module emits it as a custom status, and the host maps it to
/// this variant.
pub const NOT_READ: &str = "not-read";

/// Words that count as a standard status in a verdict (docs/exit-codes.md), in the form that
/// [`Status::meaning`] compares. The Rust SDK has the same list.
pub static WORDS: [(Status, &[&str]); 3] = [
    (
        Status::Failed,
        &[
            "fail",
            "failure",
            "error",
            "errored",
            "fatal",
            "panic",
            "panicked",
            "crash",
            "crashed",
            "broken",
            "aborted",
            "cancelled",
            "canceled",
            "interrupted",
            "notok",
        ],
    ),
    (Status::Timeout, &["timedout"]),
    (Status::Skipped, &["skip", "notrun", "pending", "disabled", "ignored"]),
];

/// Every status that is not custom.
pub static STANDARD: [Status; 6] =
    [Status::Passed, Status::Failed, Status::Skipped, Status::Timeout, Status::Unknown, Status::NotRead];

/// The status of an item. Every status other than the first six is custom.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Status {
    /// The test passed.
    Passed,
    /// The test failed.
    Failed,
    /// The test did not run.
    Skipped,
    /// The test did not finish in time.
    Timeout,
    /// The outcome is unknown: there is no result, or it could not be read.
    #[default]
    Unknown,
    /// The file was collected but not read, such as a file of format `raw`. It says neither that
    /// something passed nor that it failed, so it never counts as a passed check.
    NotRead,
    /// A custom status of the plugin, such as `warning`. For an item with children, also counts
    /// such as `failed: 1, warning: 3`.
    Custom(String),
}

impl Status {
    /// Returns the status as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
            Self::NotRead => NOT_READ,
            Self::Custom(text) => text,
        }
    }

    /// Returns a short form for output: of a list of counts, the first ten and the number of the
    /// rest.
    pub fn brief(&self) -> String {
        let counts: Vec<&str> = self.as_str().split(", ").collect();
        text::listed(&counts, MAX_COUNTS, ", ")
    }

    /// Returns whether this is a custom status.
    pub fn is_custom(&self) -> bool {
        matches!(self, Self::Custom(_))
    }

    /// Returns the status that a verdict counts this one as. What is printed and stored stays as it
    /// is.
    ///
    /// A custom status that equals a standard one or one of the [`WORDS`] counts as that status.
    /// Case, white space, `-` and `_` make no difference. Every other custom status counts as
    /// itself. For lists of counts, see [`crate::rollup::meanings`].
    pub fn meaning(&self) -> Self {
        let Self::Custom(text) = self else { return self.clone() };
        let text = text.trim();
        if text.is_empty() {
            return Self::Unknown;
        }
        let listed = WORDS.iter().find(|(_, words)| words.iter().any(|word| is_same_word(text, word)));
        let listed = listed.map(|(status, _)| status);
        let found = listed.or_else(|| STANDARD.iter().find(|status| is_same_word(text, status.as_str())));
        found.unwrap_or(self).clone()
    }
}

fn is_same_word(text: &str, word: &str) -> bool {
    letters(text).eq(letters(word))
}

/// Returns the bytes of a word without white space, `-` and `_`, in lower case.
fn letters(word: &str) -> impl Iterator<Item = u8> {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'-' | b'_');
    word.bytes().filter(move |byte| !is_separator(byte)).map(|byte| byte.to_ascii_lowercase())
}

impl From<&str> for Status {
    /// Converts text to a status. Empty text becomes [`Status::Unknown`].
    fn from(text: &str) -> Self {
        let standard = STANDARD.iter().find(|status| status.as_str() == text).cloned();
        standard.unwrap_or_else(|| if text.is_empty() { Self::Unknown } else { Self::Custom(text.to_owned()) })
    }
}

impl From<String> for Status {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Status> for String {
    fn from(status: Status) -> String {
        match status {
            Status::Custom(text) => text,
            other => other.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
