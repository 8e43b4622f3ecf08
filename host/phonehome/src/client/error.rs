//! Errors of requests, with messages that name the failed operation.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use rustls::{AlertDescription, CertificateError};

use crate::tls::TlsConfigError;

/// The maximum length in characters of a response body in a message.
const SHOWN_CHARACTERS: usize = 300;

/// Error of a request. Messages are fragments that continue "failed to". [`ClientError::hint`] says
/// how to fix the problem.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL of the aggregator is invalid.
    #[error("use the aggregator's URL `{url}`: {reason}")]
    Url {
        /// The URL as given, cut to 300 characters.
        url: String,
        /// The reason.
        reason: &'static str,
    },
    /// The certificates or the key are invalid.
    #[error("use the certificates of this worker")]
    Certificates(#[from] TlsConfigError),
    /// The content type is not valid in a header.
    #[error("send a body of type `{}`: it is not a valid header value", .0.escape_debug())]
    ContentType(String),
    /// The host in the URL could not be resolved.
    #[error("resolve `{host}`")]
    Resolve {
        /// The name that was looked up.
        host: String,
        /// The error of the resolver.
        #[source]
        source: io::Error,
    },
    /// No address accepted the connection.
    #[error("connect to {endpoint}: {}", attempts_in_one_line(attempts))]
    Connect {
        /// Host and port as in the URL.
        endpoint: String,
        /// All attempted addresses in order, each with its error.
        attempts: Vec<(SocketAddr, io::Error)>,
    },
    /// The TLS handshake failed: the two sides do not trust each other, or one of them does not use
    /// TLS.
    #[error("complete the TLS handshake with {endpoint} at {address}")]
    Tls {
        /// Host and port as in the URL.
        endpoint: String,
        /// The address of the server.
        address: SocketAddr,
        /// The reason.
        #[source]
        source: TlsFailure,
    },
    /// There was no progress for too long.
    #[error("{stage} {endpoint}: no progress for {after:?}")]
    Timeout {
        /// Host and port as in the URL.
        endpoint: String,
        /// What the client was waiting for.
        stage: Stage,
        /// The timeout.
        after: Duration,
    },
    /// The connection was interrupted, or the data on it was not HTTP.
    #[error("exchange HTTP messages with {endpoint}")]
    Transport {
        /// Host and port as in the URL.
        endpoint: String,
        /// The reason.
        #[source]
        source: hyper::Error,
    },
    /// The aggregator reported an upload as stored before it was sent completely.
    #[error("send the whole body to {endpoint}: it answered {status} after {sent} of {length} bytes")]
    AnsweredTooEarly {
        /// Host and port as in the URL.
        endpoint: String,
        /// The status code of the response.
        status: StatusCode,
        /// The number of bytes of the body that had been sent.
        sent: u64,
        /// The length of the whole body in bytes.
        length: u64,
    },
    /// The aggregator rejected the request.
    #[error("{request}: {endpoint} answered {status}{}", shown(body))]
    Refused {
        /// Host and port as in the URL.
        endpoint: String,
        /// Method and path.
        request: String,
        /// The status code.
        status: StatusCode,
        /// The body as text, cut to 64 KiB.
        body: String,
        /// How long the aggregator asks to wait (`Retry-After`, RFC 9110, section 10.2.3).
        retry_after: Option<Duration>,
    },
    /// The file to send could not be read.
    #[error("read `{}`", .path.display())]
    Source {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
    /// The file grew or shrank while it was read, so the upload was aborted.
    #[error("send `{}`: it had {length} bytes at first and changed while it was being sent", .path.display())]
    SourceChanged {
        /// The path of the file.
        path: PathBuf,
        /// The size in bytes when the upload started.
        length: u64,
    },
    /// Every attempt until the deadline failed.
    #[error("send the result: gave up after {attempts} attempts in {elapsed:.1?}")]
    GaveUp {
        /// The number of attempts.
        attempts: u32,
        /// The total time.
        elapsed: Duration,
        /// The error of the last attempt.
        #[source]
        last: Box<ClientError>,
    },
}

/// Why the TLS handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    /// One of the sides rejected a certificate or a message.
    #[error(transparent)]
    Protocol(rustls::Error),
    /// The connection was interrupted during the handshake.
    #[error(transparent)]
    Io(io::Error),
}

/// What a client was waiting for at a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The TLS handshake.
    Handshake,
    /// Sending the request.
    Sending,
    /// The response to a completely sent request.
    Answer,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handshake => "complete the TLS handshake with",
            Self::Sending => "send to",
            Self::Answer => "get an answer from",
        })
    }
}

impl ClientError {
    /// Returns whether the same request may succeed later. This covers all errors between the two
    /// ends, and the responses 408, 425, 429 and 5xx.
    ///
    /// A certificate mismatch is temporary too: while an aggregator restarts, another server may
    /// respond.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Timeout { .. }
            | Self::Transport { .. }
            | Self::AnsweredTooEarly { .. }
            | Self::SourceChanged { .. } => true,
            Self::Refused { status, .. } => is_temporary(*status),
            Self::Url { .. }
            | Self::Certificates(_)
            | Self::ContentType(_)
            | Self::Source { .. }
            | Self::GaveUp { .. } => false,
        }
    }

    /// Returns the response body if the aggregator will always reject this result (413, 400).
    pub fn rejection(&self) -> Option<&str> {
        match self {
            Self::Refused { status: StatusCode::PAYLOAD_TOO_LARGE | StatusCode::BAD_REQUEST, body, .. } => {
                Some(body.trim())
            }
            _ => None,
        }
    }

    /// Returns how long the aggregator asks to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns how to fix the problem, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Url { .. } => Some("set `AGGREGATOR_URL` to `https://HOST:PORT`"),
            Self::Certificates(_) => {
                Some("`CA_CERT`, `CLIENT_CERT` and `CLIENT_KEY` hold PEM strings, not paths of files")
            }
            Self::Resolve { .. } => Some("check `AGGREGATOR_URL` and the DNS of this node"),
            Self::Connect { .. } => Some(
                "check that the run has not ended, and that this node may connect to the aggregator's address and port",
            ),
            Self::Tls { source: TlsFailure::Protocol(error), .. } => tls_hint(error),
            Self::Tls { source: TlsFailure::Io(_), .. } => {
                Some("the connection was accepted and then dropped: check for a proxy or a firewall in between")
            }
            Self::Timeout { stage: Stage::Handshake | Stage::Sending, .. } => Some(
                "the connection was accepted, but no data arrives: check for a firewall in between, and the load of the aggregator",
            ),
            Self::Timeout { stage: Stage::Answer, .. } => Some("check the log and the disk of the aggregator"),
            Self::Refused { status, .. } => refusal_hint(*status),
            Self::Source { .. } | Self::ContentType(_) => None,
            Self::SourceChanged { .. } => Some("write the done file only when the result is complete"),
            Self::Transport { .. } | Self::AnsweredTooEarly { .. } => Some("check the log of the aggregator"),
            Self::GaveUp { last, .. } => last.hint(),
        }
    }
}

/// Returns whether a request that got this response may succeed later.
pub(super) fn is_temporary(status: StatusCode) -> bool {
    status.is_server_error()
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}

fn tls_hint(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => Some("compare the clocks of this node and the aggregator's node; certificates are valid for one run only"),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some(
            "the aggregator's certificate is made for its advertised address: use that address in `AGGREGATOR_URL`",
        ),
        rustls::Error::InvalidCertificate(_) => {
            Some("the server at this address does not belong to this run: check `AGGREGATOR_URL` and `CA_CERT`")
        }
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            Some("the server at this address does not speak HTTP/1.1: check `AGGREGATOR_URL`")
        }
        rustls::Error::AlertReceived(_) => {
            Some("the aggregator did not accept this worker's certificate: it is expired, or from another run")
        }
        rustls::Error::InvalidMessage(_) => {
            Some("the server at this address does not speak TLS: check `AGGREGATOR_URL`")
        }
        _ => None,
    }
}

fn refusal_hint(status: StatusCode) -> Option<&'static str> {
    match status {
        StatusCode::FORBIDDEN => Some(
            "the run does not expect this result, or the certificate is another plugin's: check `RESULT_TYPE` and `NODE_NAME`",
        ),
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Some(
            "check that `AGGREGATOR_URL` leads to an aggregator, and `RESULT_TYPE` and `NODE_NAME` are valid names",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => {
            Some("the result is larger than a limit or the disk of the aggregator: send less, or raise the limit")
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Some("the aggregator is busy, or its disk is full")
        }
        _ if status.is_server_error() => Some("check the log and the disk of the aggregator"),
        _ => None,
    }
}

fn attempts_in_one_line(attempts: &[(SocketAddr, io::Error)]) -> String {
    let attempts: Vec<_> = attempts.iter().map(|(address, error)| format!("{address}: {error}")).collect();
    attempts.join("; ")
}

/// Returns the body of a response as the short rest of a line that is safe to print on a terminal.
fn shown(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        text => format!(": {}", plumbline_core::text::excerpt(text, SHOWN_CHARACTERS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: StatusCode, body: &str) -> ClientError {
        ClientError::Refused {
            endpoint: "10.0.0.7:8080".to_owned(),
            request: "PUT /api/v1/results/global/e2e".to_owned(),
            status,
            body: body.to_owned(),
            retry_after: None,
        }
    }

    #[test]
    fn a_refusal_names_request_answer_and_reason_in_one_line() {
        assert_eq!(
            refused(StatusCode::FORBIDDEN, "result e2e/global\nis \u{1b}[31munexpected\n").to_string(),
            "PUT /api/v1/results/global/e2e: 10.0.0.7:8080 answered 403 Forbidden: result e2e/global is \u{fffd}[31munexpected"
        );
        assert_eq!(
            refused(StatusCode::NOT_FOUND, "").to_string(),
            "PUT /api/v1/results/global/e2e: 10.0.0.7:8080 answered 404 Not Found"
        );
    }

    #[test]
    fn a_failed_connection_names_every_address() {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
        let error = ClientError::Connect {
            endpoint: "aggregator:8080".to_owned(),
            attempts: vec![
                ("10.0.0.7:8080".parse().unwrap(), refused()),
                ("[fd00::7]:8080".parse().unwrap(), refused()),
            ],
        };
        assert_eq!(
            error.to_string(),
            "connect to aggregator:8080: 10.0.0.7:8080: connection refused; [fd00::7]:8080: connection refused"
        );
    }

    #[test]
    fn temporary_errors_are_distinguished_from_permanent_ones() {
        for (status, temporary) in [
            (StatusCode::BAD_REQUEST, false),
            (StatusCode::FORBIDDEN, false),
            (StatusCode::NOT_FOUND, false),
            (StatusCode::PAYLOAD_TOO_LARGE, false),
            (StatusCode::REQUEST_TIMEOUT, true),
            (StatusCode::TOO_MANY_REQUESTS, true),
            (StatusCode::INTERNAL_SERVER_ERROR, true),
            (StatusCode::SERVICE_UNAVAILABLE, true),
            (StatusCode::INSUFFICIENT_STORAGE, true),
        ] {
            assert_eq!(refused(status, "").is_temporary(), temporary, "{status}");
        }
        let missing = ClientError::Source { path: "/x".into(), source: io::ErrorKind::NotFound.into() };
        assert!(!missing.is_temporary());
    }
}
