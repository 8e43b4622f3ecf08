//! Items of the result tree, and their statuses.

use std::fmt;

use crate::InputFile;

/// Words that count as a standard status in a verdict, in the form that [`Status::meaning`]
/// compares. The host has the same list.
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

/// The statuses that modules and the host share, including one that is custom for modules.
const STANDARD: [&str; 6] = ["passed", "failed", "skipped", "timeout", "unknown", "not-read"];

/// The text between two counts of a list.
const LIST_SEPARATOR: &str = ", ";

/// The outcome of an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Status {
    /// The test or check succeeded.
    Passed,
    /// The test or check failed.
    Failed,
    /// The test or check did not run.
    Skipped,
    /// The test or check did not finish in time.
    Timeout,
    /// The outcome is unknown: there is no result, or it could not be read.
    Unknown,
    /// A custom status of the format, such as `warning`: 1 to 256 bytes.
    ///
    /// If a plugin's tree has a custom status anywhere, items with children show counts (`failed:
    /// 1, warning: 3`) instead of a single word.
    Custom(String),
}

impl Status {
    /// Returns the status as text, such as `passed`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
            Self::Custom(text) => text,
        }
    }

    /// Returns the status that a verdict counts this one as.
    ///
    /// A custom status that equals a standard one or one of the [`WORDS`] counts as that status.
    /// Case, white space, `-` and `_` make no difference.
    ///
    /// A list of counts, such as `failed: 1, passed: 2`, counts as timeout, failed or unknown if one
    /// of its statuses does. Otherwise, it counts as the standard status that all of them count as.
    /// Every other custom status counts as itself.
    ///
    /// ```
    /// use plumbline_sdk::Status;
    ///
    /// assert_eq!(Status::from("ERROR").meaning(), Status::Failed);
    /// assert_eq!(Status::from("skipped: 2").meaning(), Status::Skipped);
    /// assert_eq!(Status::from("warning").meaning(), Status::from("warning"));
    /// ```
    #[must_use]
    pub fn meaning(&self) -> Self {
        let Self::Custom(text) = self else { return self.clone() };
        let Some(counts) = counts_in(text) else { return Self::of_word(text) };
        let named = counts.into_iter().filter(|&(_, count)| count > 0);
        let meanings: Vec<Self> = named.map(|(name, _)| Self::of_word(name)).collect();
        let bad = [Self::Timeout, Self::Failed, Self::Unknown].into_iter().find(|bad| meanings.contains(bad));
        bad.unwrap_or_else(|| match meanings.as_slice() {
            [first, rest @ ..] if STANDARD.contains(&first.as_str()) && rest.iter().all(|other| other == first) => {
                first.clone()
            }
            _ => self.clone(),
        })
    }

    /// Returns the status that a word counts as.
    fn of_word(text: &str) -> Self {
        let word = text.trim();
        if let Some((status, _)) = WORDS.iter().find(|(_, words)| words.iter().any(|known| is_same_word(word, known))) {
            return status.clone();
        }
        let standard = STANDARD.into_iter().find(|known| is_same_word(word, known));
        standard.map_or_else(|| Self::Custom(text.to_owned()), Self::from)
    }
}

/// Parses text of the form `failed: 1, warning: 3`. Returns `None` for any other text.
///
/// A part without a count is the start of a name that contains a comma and a space.
fn counts_in(text: &str) -> Option<Vec<(&str, u64)>> {
    let mut counts = Vec::new();
    // The start of the name, and that of the part.
    let (mut start, mut at) = (0, 0);
    for part in text.split(LIST_SEPARATOR) {
        let end = at + part.len();
        at = end + LIST_SEPARATOR.len();
        let Some((_, digits)) = part.rsplit_once(": ").filter(|(_, digits)| is_number(digits)) else { continue };
        let name = text.get(start..end)?.strip_suffix(digits)?.strip_suffix(": ")?;
        if name.is_empty() {
            return None;
        }
        counts.push((name, digits.parse().ok()?));
        start = at;
    }
    (start == at).then_some(counts)
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
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
    /// Converts text to a status. Empty text becomes [`Status::Unknown`], and any text that is not
    /// a standard status becomes a custom one.
    fn from(text: &str) -> Self {
        match text {
            "passed" => Self::Passed,
            "failed" => Self::Failed,
            "skipped" => Self::Skipped,
            "timeout" => Self::Timeout,
            "unknown" | "" => Self::Unknown,
            other => Self::Custom(other.to_owned()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The value of one entry of [`Item::details`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Text, which is shown unchanged.
    Text(String),
    /// A JSON document (RFC 8259). The host validates it and stores it as structured data.
    Json(String),
}

/// Maximum size of [`Item::name`] in bytes: 64 KiB. The host ends the call if a name is longer.
pub const MAX_NAME: usize = 64 << 10;

/// Maximum size of [`Status::Custom`] in bytes. The host ends the call if a custom status is
/// longer.
pub const MAX_CUSTOM_STATUS: usize = 256;

/// One entry of the result tree.
///
/// A tree is a list of items in pre-order. An item of `depth` 0 is a root of the result set. Any
/// other item is the child of the nearest earlier item that is one level up. The first item has
/// depth 0, and an item is at most one level deeper than the item before it.
///
/// ```
/// use plumbline_sdk::{Item, Status};
///
/// let suite = Item::new(0, "disk").meta("file", "results/global/disk.txt");
/// let check = Item::new(1, "space on /var").status(Status::Failed).text("failure", "want 10 GiB, got 2 GiB");
/// assert_eq!(check.depth, suite.depth + 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The level in the tree; 0 is a root of the result set.
    pub depth: u32,
    /// The name that people see: 1 to [`MAX_NAME`] bytes.
    pub name: String,
    /// The outcome. With `None`, the host sets it: rolled up from the children, or `unknown` if
    /// there are none.
    pub status: Option<Status>,
    /// Metadata: short facts, such as `file` and `type`. If a key occurs twice, its last value
    /// wins.
    pub meta: Vec<(String, String)>,
    /// Details for people who examine a failure. If a key occurs twice, its last value wins.
    pub details: Vec<(String, Detail)>,
}

impl Item {
    /// Creates an item with a depth and a name only.
    pub fn new(depth: u32, name: impl Into<String>) -> Self {
        Self { depth, name: name.into(), status: None, meta: Vec::new(), details: Vec::new() }
    }

    /// Creates the item of a result file, with its name and path. It has depth 0.
    #[must_use]
    pub fn of_file(file: &InputFile) -> Self {
        Self::new(0, file.file_name()).meta("file", file.path()).meta("type", "file")
    }

    /// Sets the status. With `None`, the host sets it.
    #[must_use]
    pub fn status(mut self, status: impl Into<Option<Status>>) -> Self {
        self.status = status.into();
        self
    }

    /// Adds a metadata entry.
    ///
    /// Known keys are `file` (the path of the file that the item represents), `type` (`file`,
    /// `node` or `summary`) and `error` (why something could not be read).
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.push((key.into(), value.into()));
        self
    }

    /// Adds a text to the details, under a key such as `failure`, `error` or `system-out`.
    #[must_use]
    pub fn text(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.details.push((key.into(), Detail::Text(text.into())));
        self
    }

    /// Adds a JSON value to the details.
    #[must_use]
    pub fn json(mut self, key: impl Into<String>, value: &serde_json::Value) -> Self {
        self.details.push((key.into(), Detail::Json(value.to_string())));
        self
    }

    /// Adds a serialized JSON document to the details. The host ends the call if it is not valid
    /// JSON.
    #[must_use]
    pub fn raw_json(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.details.push((key.into(), Detail::Json(json.into())));
        self
    }

    /// Returns the total size of the item's strings in bytes, which is what the host's output
    /// limits count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let status = match &self.status {
            Some(Status::Custom(text)) => text.len(),
            _ => 0,
        };
        let meta: usize = self.meta.iter().map(|(key, value)| key.len() + value.len()).sum();
        let details: usize = self
            .details
            .iter()
            .map(|(key, value)| {
                key.len()
                    + match value {
                        Detail::Text(text) | Detail::Json(text) => text.len(),
                    }
            })
            .sum();
        self.name.len() + status + meta + details
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_is_written() {
        for text in ["passed", "failed", "skipped", "timeout", "unknown", "warning"] {
            assert_eq!(Status::from(text).to_string(), text);
        }
        assert_eq!(Status::from("warning"), Status::Custom("warning".to_owned()));
        assert_eq!(Status::from(""), Status::Unknown);
    }

    #[test]
    fn bytes_are_those_of_all_texts() {
        let item = Item::new(0, "12")
            .status(Status::Custom("345".to_owned()))
            .meta("6", "78")
            .text("9", "a")
            .json("b", &serde_json::json!({}))
            .raw_json("c", "[]");
        assert_eq!(item.bytes(), 2 + 3 + 3 + 2 + 3 + 3);
        assert_eq!(Item::new(0, "12").status(None).status(Status::Passed).bytes(), 2);
    }
}
