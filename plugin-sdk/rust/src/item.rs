//! What a post-processor emits.

use std::fmt;

/// How an item ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Status {
    /// It did what it should.
    Passed,
    /// It did not.
    Failed,
    /// It was not tried.
    Skipped,
    /// It did not end in time.
    Timeout,
    /// Nobody can say: no result, or one that could not be read.
    Unknown,
    /// A status of the format's own, such as `warning`. At most 256 bytes, not empty. One custom status anywhere in a plugin's
    /// tree makes the host report counts (`failed: 1, warning: 3`) in place of a single word for items with children.
    Custom(String),
}

impl Status {
    /// The status as text.
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
}

impl From<&str> for Status {
    /// The status of that name; empty text is [`Status::Unknown`], any other text a custom status.
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
    /// Text, shown as it is.
    Text(String),
    /// A JSON document (RFC 8259). The host checks it and stores it as structure, not as text.
    Json(String),
}

/// Bytes of [`Item::name`] at most: 64 KiB. The host ends the call at a longer one.
pub const MAX_NAME: usize = 64 << 10;

/// Bytes of [`Status::Custom`] at most. The host ends the call at a longer one.
pub const MAX_CUSTOM_STATUS: usize = 256;

/// One entry of the result tree.
///
/// A tree is a list of items in pre-order: `depth` 0 is a root of the result set; an item is the child of the nearest earlier item
/// that is one level up. The first item has depth 0, and a depth is at most one more than the depth before it.
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
    /// 0 is a root of the result set.
    pub depth: u32,
    /// What a person sees; must not be empty, and may have [`MAX_NAME`] bytes.
    pub name: String,
    /// How it ended. `None` leaves it to the host: rolled up from the children, or `unknown` where there are none.
    pub status: Option<Status>,
    /// Short facts, such as `file` and `type`. A key that occurs twice keeps its last value.
    pub meta: Vec<(String, String)>,
    /// What a person reads when something went wrong. A key that occurs twice keeps its last value.
    pub details: Vec<(String, Detail)>,
}

impl Item {
    /// An item at `depth` with a name and nothing else.
    pub fn new(depth: u32, name: impl Into<String>) -> Self {
        Self { depth, name: name.into(), status: None, meta: Vec::new(), details: Vec::new() }
    }

    /// Sets how it ended. `None` leaves it to the host.
    #[must_use]
    pub fn status(mut self, status: impl Into<Option<Status>>) -> Self {
        self.status = status.into();
        self
    }

    /// Adds a short fact. Known keys: `file` (path of the file that the item stands for), `type` (`file`, `node`, `summary`) and
    /// `error` (why something could not be read).
    #[must_use]
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.meta.push((key.into(), value.into()));
        self
    }

    /// Adds a text that a person reads, such as `failure`, `error`, `system-out`.
    #[must_use]
    pub fn text(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.details.push((key.into(), Detail::Text(text.into())));
        self
    }

    /// Adds a structure.
    #[must_use]
    pub fn json(mut self, key: impl Into<String>, value: &serde_json::Value) -> Self {
        self.details.push((key.into(), Detail::Json(value.to_string())));
        self
    }

    /// Adds a structure that is already written as JSON. The host refuses text that is not JSON.
    #[must_use]
    pub fn raw_json(mut self, key: impl Into<String>, json: impl Into<String>) -> Self {
        self.details.push((key.into(), Detail::Json(json.into())));
        self
    }

    /// Bytes of all texts of the item, which is what the host's limits on output count.
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
