//! Messages other than results: hello and heartbeat, and the headers that describe a body.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The content type of a gzip-compressed tar, compared byte by byte, as existing clients expect.
pub const CONTENT_TYPE_ARCHIVE: &str = "application/gzip";

/// The content type of progress updates, hellos and heartbeats.
pub const CONTENT_TYPE_JSON: &str = "application/json";

/// A request header of an upload with the value `true`. The body is then an error record in place
/// of a result: a JSON object with a string under `error` (docs/protocol.md, "A result that could
/// not be gathered"). An aggregator that does not know the header stores the body as a file.
pub const HEADER_ERROR: &str = "x-plumbline-error";

/// The maximum size of a hello or heartbeat in bytes. It has room for a path of 4,096 bytes.
pub const MAX_HEARTBEAT_BYTES: usize = 8 << 10;

/// Returns whether the body of an upload is a gzip-compressed tar, whose members are the result,
/// according to its header `Content-Type`. Any other body is a single file, stored unchanged.
pub fn is_archive(content_type: Option<&[u8]>) -> bool {
    content_type == Some(CONTENT_TYPE_ARCHIVE.as_bytes())
}

/// The first message of a worker: it is running and can reach the aggregator. Unknown keys are
/// ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hello {
    /// The version of the worker, for display.
    #[serde(default)]
    pub version: String,
    /// The process ID of the worker on its node or in its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When the worker started, by its own clock.
    pub started: Timestamp,
    /// The path in which the worker waits for the done file, as the worker sees it.
    #[serde(default)]
    pub results_dir: String,
}

/// The periodic message of a running worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Heartbeat {
    /// The current phase of the worker.
    pub phase: Phase,
    /// When the phase started, by the worker's clock.
    pub since: Timestamp,
}

/// The response of an aggregator to a heartbeat, or an empty one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatAnswer {
    /// Whether the plugin has timed out, so that its partial result should be sent to
    /// [`crate::RouteKind::Partial`].
    #[serde(default)]
    pub send_partial: bool,
    /// Whether every other container of the pod has ended with exit code 0, so the plugin is done.
    #[serde(default)]
    pub plugin_ended: bool,
}

impl HeartbeatAnswer {
    /// Parses the body of a response. An invalid one requests nothing.
    pub fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

/// The phase of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The plugin is running: there is no done file yet.
    Waiting,
    /// The worker packs or sends the result.
    Uploading,
    /// The result was accepted, and the driver requires that the worker stays.
    Done,
    /// A phase that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Error while parsing a hello or heartbeat. Respond with 400.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The body exceeds [`MAX_HEARTBEAT_BYTES`].
    #[error("the message has {0} bytes: the limit is {MAX_HEARTBEAT_BYTES}")]
    TooLarge(usize),
    /// The body is not the expected JSON.
    #[error("the message is not valid")]
    Json(#[from] serde_json::Error),
}

macro_rules! json_message {
    ($name:ident) => {
        impl $name {
            /// Parses the body of a request.
            ///
            /// # Errors
            /// Returns an error if the body is too large, is not JSON, or lacks a required key.
            pub fn parse(body: &[u8]) -> Result<Self, MessageError> {
                if body.len() > MAX_HEARTBEAT_BYTES {
                    return Err(MessageError::TooLarge(body.len()));
                }
                Ok(serde_json::from_slice(body)?)
            }

            /// Returns the body of a request.
            pub fn to_json(&self) -> Bytes {
                // Strings, numbers and times always serialize.
                Bytes::from(serde_json::to_vec(self).unwrap_or_default())
            }
        }
    };
}
json_message!(Hello);
json_message!(Heartbeat);
json_message!(HeartbeatAnswer);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_content_type_is_an_archive() {
        assert!(is_archive(Some(b"application/gzip")));
        for other in [
            &b""[..],
            b"application/x-gzip",
            b"application/gzip; q=1",
            b"application/gzip ",
            b"Application/Gzip",
            b"application/octet-stream",
        ] {
            assert!(!is_archive(Some(other)), "{other:?}");
        }
        assert!(!is_archive(None));
    }

    #[test]
    fn hello_is_the_json_of_the_protocol() {
        let hello = Hello {
            version: "0.1.0".to_owned(),
            pid: Some(7),
            started: "2026-01-02T03:04:05Z".parse().unwrap(),
            results_dir: "/tmp/sonobuoy/results".to_owned(),
        };
        let json = String::from_utf8(hello.to_json().to_vec()).unwrap();
        assert_eq!(
            json,
            r#"{"version":"0.1.0","pid":7,"started":"2026-01-02T03:04:05Z","results-dir":"/tmp/sonobuoy/results"}"#
        );
        assert_eq!(Hello::parse(json.as_bytes()).unwrap(), hello);
    }

    #[test]
    fn messages_of_other_versions_are_read() {
        let hello = Hello::parse(br#"{"started":"2026-01-02T03:04:05+01:00","node-uptime":12}"#).unwrap();
        assert_eq!((hello.pid, hello.version.as_str()), (None, ""));
        let heartbeat = Heartbeat::parse(br#"{"phase":"dreaming","since":"2026-01-02T03:04:05Z"}"#).unwrap();
        assert_eq!(heartbeat.phase, Phase::Unknown);
        for (phase, text) in [(Phase::Waiting, "waiting"), (Phase::Uploading, "uploading"), (Phase::Done, "done")] {
            let json = format!(r#"{{"phase":"{text}","since":"2026-01-02T03:04:05Z"}}"#);
            assert_eq!(Heartbeat::parse(json.as_bytes()).unwrap().phase, phase);
        }
    }

    #[test]
    fn an_invalid_message_is_rejected_with_the_reason() {
        assert!(matches!(Hello::parse(b""), Err(MessageError::Json(_))));
        assert!(matches!(Heartbeat::parse(br#"{"phase":"waiting"}"#), Err(MessageError::Json(_))));
        let large = format!(r#"{{"started":"2026-01-02T03:04:05Z","version":"{}"}}"#, "x".repeat(MAX_HEARTBEAT_BYTES));
        assert_eq!(
            Hello::parse(large.as_bytes()).unwrap_err().to_string(),
            format!("the message has {} bytes: the limit is 8192", large.len())
        );
    }
}
