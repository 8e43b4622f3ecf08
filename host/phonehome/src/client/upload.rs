//! What is sent as a result, and what became of it.

use std::path::PathBuf;

use bytes::Bytes;
use http::StatusCode;

/// One result on its way to the aggregator.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Where the bytes come from.
    pub source: Source,
    /// The content type; `application/gzip`, exactly, makes the aggregator unpack the body. Empty: the header is left out.
    pub content_type: String,
    /// What the file is called at the other end. `None`, or a name that is no name of a file: the aggregator calls it `result`.
    pub filename: Option<String>,
    /// The body is the reason why there is no result: sent as [`HEADER_ERROR`](crate::HEADER_ERROR).
    pub error: bool,
}

impl Upload {
    /// A result from `source`.
    #[must_use]
    pub fn result(source: Source, content_type: impl Into<String>, filename: Option<String>) -> Self {
        Self { source, content_type: content_type.into(), filename, error: false }
    }

    /// The reason why there is no result, as the JSON object `{"error": reason}` (docs/protocol.md, "A result that could not be gathered").
    #[must_use]
    pub fn failure(reason: &str) -> Self {
        Self {
            source: Source::Bytes(Bytes::from(serde_json::json!({ "error": reason }).to_string())),
            content_type: crate::CONTENT_TYPE_JSON.to_owned(),
            filename: Some("error.json".to_owned()),
            error: true,
        }
    }
}

/// Where the bytes of an upload come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A regular file, or a symbolic link to one. It is read once per attempt, in pieces of 64 KiB, and must not change meanwhile.
    File(PathBuf),
    /// Bytes in memory.
    Bytes(Bytes),
}

/// How an upload ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The aggregator has the result on its disk.
    Stored,
    /// The aggregator already had a result under this key: an earlier attempt whose answer was lost, or an error it recorded itself.
    AlreadyReceived,
}

/// What the aggregator answered to a progress update, hello or heartbeat, whatever the status is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The body, cut to 64 KiB.
    pub body: Bytes,
}

impl Answer {
    /// Whether the message was taken.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}
