//! What is said besides results: signs of life, and the headers that say what a body is.

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The content type that marks a body as a gzip-compressed tar. Compared byte by byte: `application/x-gzip` or a parameter behind
/// it make the body an ordinary file, as clients in the field expect.
pub const CONTENT_TYPE_ARCHIVE: &str = "application/gzip";

/// The content type of progress updates, hellos and heartbeats.
pub const CONTENT_TYPE_JSON: &str = "application/json";

/// A request header of an upload, with the value `true`: the body is not a result but the reason why there is none, a JSON object
/// with a text under `error` (docs/protocol.md, "A result that could not be gathered"). An aggregator that does not know the header
/// stores the body as a file.
pub const HEADER_ERROR: &str = "x-plumbline-error";

/// The largest hello or heartbeat, in bytes. Room for a path of 4096 bytes, every byte of it escaped.
pub const MAX_SIGN_OF_LIFE_BYTES: usize = 32 << 10;

/// What the body of an upload is, going by its content type alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// A gzip-compressed tar: its members are the result.
    Archive,
    /// One file, stored as it comes.
    File,
}

impl BodyKind {
    /// Reads a `Content-Type` header: [`BodyKind::Archive`] for exactly [`CONTENT_TYPE_ARCHIVE`], [`BodyKind::File`] for anything
    /// else and for none.
    #[must_use]
    pub fn from_content_type(header: Option<&[u8]>) -> Self {
        if header == Some(CONTENT_TYPE_ARCHIVE.as_bytes()) { Self::Archive } else { Self::File }
    }
}

/// What a worker says first: it runs, and it reaches the aggregator. Keys it does not know are ignored by a reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hello {
    /// The version of the worker's program, for people.
    #[serde(default)]
    pub version: String,
    /// The process id of the worker on its node or in its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// When the worker started, by its own clock.
    pub started: Timestamp,
    /// Where the worker waits for the done file, as it sees the path.
    #[serde(default)]
    pub results_dir: String,
}

/// What a worker says every now and then while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Heartbeat {
    /// What the worker is doing.
    pub phase: Phase,
    /// Since when it has been doing that, by its own clock.
    pub since: Timestamp,
}

/// What an aggregator answers a heartbeat with when it wants something of the worker; otherwise the answer is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeartbeatAnswer {
    /// The time of the plugin is up: what it has so far is wanted, under [`crate::RouteKind::Partial`].
    #[serde(default)]
    pub send_partial: bool,
    /// Every other container of the pod has ended with exit code 0: without a done file, the plugin is done all the same.
    #[serde(default)]
    pub plugin_ended: bool,
}

impl HeartbeatAnswer {
    /// Reads the body of an answer. Whatever is not understood wants nothing.
    #[must_use]
    pub fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The plugin is at work: there is no done file yet.
    Waiting,
    /// The result is being packed or sent.
    Uploading,
    /// The result was taken; the worker only stays because its driver wants it to.
    Done,
    /// A phase that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Why a hello or heartbeat could not be read. Answered with 400.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The body is larger than a sign of life can be.
    #[error("the message has {0} bytes: at most {MAX_SIGN_OF_LIFE_BYTES} are allowed")]
    TooLarge(usize),
    /// The body is not the JSON that was expected.
    #[error("the message is not valid")]
    Json(#[from] serde_json::Error),
}

macro_rules! json_message {
    ($name:ident) => {
        impl $name {
            /// Reads the body of a request.
            ///
            /// # Errors
            ///
            /// The body is too large, not JSON, or lacks a key that must be there.
            pub fn parse(body: &[u8]) -> Result<Self, MessageError> {
                if body.len() > MAX_SIGN_OF_LIFE_BYTES {
                    return Err(MessageError::TooLarge(body.len()));
                }
                Ok(serde_json::from_slice(body)?)
            }

            /// The body of a request.
            #[must_use]
            pub fn to_json(&self) -> Bytes {
                // Texts, numbers and times always have a JSON form.
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
        assert_eq!(BodyKind::from_content_type(Some(b"application/gzip")), BodyKind::Archive);
        for other in [
            &b""[..],
            b"application/x-gzip",
            b"application/gzip; q=1",
            b"application/gzip ",
            b"Application/Gzip",
            b"application/octet-stream",
        ] {
            assert_eq!(BodyKind::from_content_type(Some(other)), BodyKind::File, "{other:?}");
        }
        assert_eq!(BodyKind::from_content_type(None), BodyKind::File);
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
    fn what_is_no_message_says_why() {
        assert!(matches!(Hello::parse(b""), Err(MessageError::Json(_))));
        assert!(matches!(Heartbeat::parse(br#"{"phase":"waiting"}"#), Err(MessageError::Json(_))));
        let large =
            format!(r#"{{"started":"2026-01-02T03:04:05Z","version":"{}"}}"#, "x".repeat(MAX_SIGN_OF_LIFE_BYTES));
        assert_eq!(
            Hello::parse(large.as_bytes()).unwrap_err().to_string(),
            format!("the message has {} bytes: at most 32768 are allowed", large.len())
        );
    }
}
