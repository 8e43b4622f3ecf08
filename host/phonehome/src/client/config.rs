//! The configuration of a client, the data to upload, and the outcome.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{StatusCode, Uri};
use rustls_pki_types::ServerName;

use super::error::{ClientError, is_temporary};

/// The configuration that a worker receives in four environment variables (docs/protocol.md,
/// "Environment").
#[derive(Clone)]
pub struct ClientConfig {
    /// The URL `https://HOST[:PORT]`. A path or query is ignored. The default port is 443.
    pub aggregator_url: String,
    /// The certificate of the run's CA, in PEM. No other certificates are trusted.
    pub ca_cert: String,
    /// The certificate of the plugin, in PEM.
    pub client_cert: String,
    /// The matching key, in PEM: SEC1 (`EC PRIVATE KEY`) or PKCS#8 (`PRIVATE KEY`).
    pub client_key: String,
}

/// Formats the configuration without the key, because configurations end up in logs.
impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig").field("aggregator_url", &self.aggregator_url).finish_non_exhaustive()
    }
}

/// The timeouts of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout for connecting to one address. Default 10 s: three lost packets on a slow link.
    pub connect: Duration,
    /// The timeout for the TLS handshake. Default 15 s: 5,000 nodes may start in the same second.
    pub tls: Duration,
    /// The time without a single sent byte of a body. Default 60 s, as on the server.
    pub idle: Duration,
    /// The time from the last byte of an upload to its response. Default 10 min: the aggregator
    /// syncs the whole result.
    pub upload_answer: Duration,
    /// The time from the last byte of a progress update, hello or heartbeat to its response.
    /// Default 30 s.
    pub message_answer: Duration,
    /// How long the body of an upload waits for `100 Continue` or a response. Default 1 s: other
    /// servers may never send it (RFC 9110, section 10.1.1).
    pub go_ahead: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            tls: Duration::from_secs(15),
            idle: Duration::from_secs(60),
            upload_answer: Duration::from_secs(600),
            message_answer: Duration::from_secs(30),
            go_ahead: Duration::from_secs(1),
        }
    }
}

/// A result to upload to the aggregator.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The source of the data.
    pub source: Source,
    /// The content type, or empty. The aggregator unpacks exactly `application/gzip`.
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
    /// A regular file, or a symbolic link to one, which must not change while it is read.
    File(PathBuf),
    /// Data in memory.
    Bytes(Bytes),
}

/// The successful outcome of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The aggregator has stored the result on disk.
    Stored,
    /// The aggregator already had a result for this key, such as from an earlier attempt, or an
    /// error.
    AlreadyReceived,
    /// The aggregator already had a result or an error for this key, and no earlier attempt can
    /// have stored it, because none sent its whole body.
    OtherReceived,
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
    /// Returns whether the same message may be accepted later.
    pub fn is_temporary(&self) -> bool {
        is_temporary(self.status)
    }
}

/// The endpoint of the aggregator, parsed from its URL.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// A name, or an IP address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// Host and port as in the URL, for the header `Host`.
    pub(super) authority: String,
    /// The name for which the server's certificate must be valid.
    pub(super) name: ServerName<'static>,
}

impl Endpoint {
    pub(super) fn parse(url: &str) -> Result<Self, ClientError> {
        let wrong = |reason: &'static str| ClientError::Url { url: url.chars().take(300).collect(), reason };
        let uri: Uri = url.trim().parse().map_err(|_| wrong("it is not a URL"))?;
        match uri.scheme_str() {
            Some("https") => {}
            Some(_) => return Err(wrong("its scheme is not `https`")),
            None => return Err(wrong("it does not begin with `https://`")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("it has a user name: workers authenticate with certificates only"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let name =
            ServerName::try_from(host.clone()).map_err(|_| wrong("its host is neither a name nor an address"))?;
        // `Authority::port` is not used, because it returns `None` for a port that is too large.
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") => 443,
            Some(":") => return Err(wrong("its port is missing")),
            port => port
                .and_then(|port| port.strip_prefix(':')?.parse().ok())
                .ok_or_else(|| wrong("its port is not a number up to 65535"))?,
        };
        Ok(Self { host, port, authority: authority.to_string(), name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_authority_of_the_url_counts() {
        for (url, host, port, authority) in [
            ("https://10.0.0.7:8080", "10.0.0.7", 8080, "10.0.0.7:8080"),
            ("https://10.0.0.7:8080/api/v1/results?x=y", "10.0.0.7", 8080, "10.0.0.7:8080"),
            (" https://[fd00::7]:8080/\n", "fd00::7", 8080, "[fd00::7]:8080"),
            ("https://aggregator.plumbline.svc", "aggregator.plumbline.svc", 443, "aggregator.plumbline.svc"),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!((endpoint.host.as_str(), endpoint.port, endpoint.authority.as_str()), (host, port, authority));
        }
    }

    #[test]
    fn urls_that_cannot_work_say_why() {
        for (url, reason) in [
            ("", "it is not a URL"),
            ("10.0.0.7:8080", "it does not begin with `https://`"),
            ("http://10.0.0.7:8080", "its scheme is not `https`"),
            ("https://user:secret@10.0.0.7", "it has a user name: workers authenticate with certificates only"),
            ("https://10.0.0.7:99999", "its port is not a number up to 65535"),
            ("https://10.0.0.7:", "its port is missing"),
            ("https://bad_host!/", "its host is neither a name nor an address"),
            ("https://bad host/", "it is not a URL"),
            ("https://-/", "its host is neither a name nor an address"),
        ] {
            match Endpoint::parse(url) {
                Err(ClientError::Url { reason: found, .. }) => assert_eq!(found, reason, "{url}"),
                other => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_key_stays_out_of_logs() {
        let config = ClientConfig {
            aggregator_url: "https://10.0.0.7".to_owned(),
            ca_cert: String::new(),
            client_cert: String::new(),
            client_key: "SECRET".to_owned(),
        };
        assert!(!format!("{config:?}").contains("SECRET"));
    }
}
