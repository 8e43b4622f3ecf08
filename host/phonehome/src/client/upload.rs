//! The data to upload as a result, and the outcome.

use std::path::PathBuf;

use bytes::Bytes;
use http::StatusCode;

/// A result to upload to the aggregator.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The source of the data.
    pub source: Source,
    /// The content type. If it is exactly `application/gzip`, the aggregator unpacks the body. If
    /// empty, the header is omitted.
    pub content_type: String,
    /// The name of the file on the server. Without a valid name, the aggregator uses `result`.
    pub filename: Option<String>,
    /// Whether the body is an error record in place of a result, sent with
    /// [`HEADER_ERROR`](crate::HEADER_ERROR).
    pub error: bool,
}

impl Upload {
    /// Creates an upload of a result from `source`.
    #[must_use]
    pub fn result(source: Source, content_type: impl Into<String>, filename: Option<String>) -> Self {
        Self { source, content_type: content_type.into(), filename, error: false }
    }

    /// Creates an upload of an error record, the JSON object `{"error": reason}` (docs/protocol.md,
    /// "A result that could not be gathered").
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

/// The source of the data to upload.
#[derive(Debug, Clone)]
pub enum Source {
    /// A regular file, or a symbolic link to one. It is read once per attempt in pieces of 64 KiB,
    /// and must not change meanwhile.
    File(PathBuf),
    /// Data in memory.
    Bytes(Bytes),
}

/// The successful outcome of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The aggregator has stored the result on disk.
    Stored,
    /// The aggregator already had a result for this key, from an earlier attempt whose response was
    /// lost, or an error that it recorded itself.
    AlreadyReceived,
}

/// The response of the aggregator to a progress update, hello or heartbeat, with any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The body, cut to 64 KiB.
    pub body: Bytes,
}

impl Answer {
    /// Returns whether the message was accepted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status.is_success()
    }
}
