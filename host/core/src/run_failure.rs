//! The failure of a run as a whole, in the run's status, which no result of a plugin shows.

use serde::{Deserialize, Serialize};

use crate::text::printable;

/// The maximum length of a reason in bytes, 2 KiB: an error and its causes. It shares an annotation
/// with the results of thousands of nodes.
pub const MAX_REASON_BYTES: usize = 2 << 10;
/// The maximum length of a hint in bytes, 1 KiB.
pub const MAX_HINT_BYTES: usize = 1 << 10;
/// The length in bytes to which a reason is cut when nothing else fits: what failed, mostly without
/// the cause.
const SHORT_BYTES: usize = 512;
/// The marker for text that was cut off.
const CUT: char = '…';

/// Why a run failed as a whole or was interrupted. Both strings have a limited length and are one
/// line, whoever wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RunFailureRead")]
pub struct RunFailure {
    /// What failed, and why.
    pub reason: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The parsed form of [`RunFailure`], with strings of any length.
#[derive(Deserialize)]
struct RunFailureRead {
    reason: String,
    #[serde(default)]
    hint: Option<String>,
}

impl From<RunFailureRead> for RunFailure {
    fn from(read: RunFailureRead) -> Self {
        Self::new(&read.reason, read.hint.as_deref())
    }
}

impl RunFailure {
    /// Creates a failure with these strings, cut to [`MAX_REASON_BYTES`] and [`MAX_HINT_BYTES`].
    #[must_use]
    pub fn new(reason: &str, hint: Option<&str>) -> Self {
        let hint = hint.map(|hint| line(hint, MAX_HINT_BYTES)).filter(|hint| !hint.is_empty());
        Self { reason: line(reason, MAX_REASON_BYTES), hint }
    }

    /// Returns a shorter form for when there is hardly any room.
    pub(crate) fn short(&self) -> Self {
        Self { reason: short(&self.reason), hint: None }
    }
}

/// Returns the start of a text.
pub(crate) fn short(text: &str) -> String {
    line(text, SHORT_BYTES)
}

/// Returns `text` as one line of at most `limit` bytes. The function is idempotent.
fn line(text: &str, limit: usize) -> String {
    let mut kept = String::new();
    for part in text.lines().map(str::trim).filter(|part| !part.is_empty()) {
        let gap = if kept.is_empty() { "" } else { "; " };
        for c in gap.chars().chain(part.chars().map(printable)) {
            if kept.len() + c.len_utf8() + CUT.len_utf8() > limit {
                kept.push(CUT);
                return kept;
            }
            kept.push(c);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn it_is_one_line_each() {
        let failure = RunFailure::new("it failed\n  because\u{1b} so\n", Some("do this\n\nand that"));
        assert_eq!(failure.reason, "it failed; because\u{fffd} so");
        assert_eq!(failure.hint.as_deref(), Some("do this; and that"));
        assert_eq!(RunFailure::new("x", Some("\n")).hint, None);
        assert_eq!(serde_json::to_value(RunFailure::new("x", None)).unwrap(), json!({"reason": "x"}));
    }

    #[test]
    fn what_somebody_else_wrote_is_cut_when_it_is_read() {
        let read: RunFailure = serde_json::from_value(json!({"reason": "é".repeat(1 << 20), "hint": null})).unwrap();
        assert!(read.reason.len() <= MAX_REASON_BYTES && read.reason.ends_with(CUT), "{}", read.reason.len());
    }

    proptest! {
        #[test]
        fn it_fits_and_cutting_again_changes_nothing(text in "(\\PC|\n|\"|\\\\){0,80}", limit in 3usize..100) {
            let once = line(&text, limit);
            prop_assert!(once.len() <= limit);
            prop_assert_eq!(line(&once, limit), once);
        }
    }
}
