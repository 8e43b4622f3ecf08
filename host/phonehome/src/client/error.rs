//! Why a request failed, in words that name what was tried.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::StatusCode;
use rustls::{AlertDescription, CertificateError};

use crate::tls::TlsConfigError;

/// How much of a refusal's body is shown in a message, in characters. The field holds all of it.
const SHOWN_CHARACTERS: usize = 300;

/// Why a request did not succeed. Messages are fragments that read after "failed to"; [`ClientError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL of the aggregator cannot be used.
    #[error("use the aggregator's URL `{url}`: {reason}")]
    Url {
        /// The URL as given, cut to 300 characters.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The certificates or the key cannot be used.
    #[error("use the certificates of this worker")]
    Certificates(#[from] TlsConfigError),
    /// The content type cannot be sent.
    #[error("send a body of type `{}`: a header cannot hold it", .0.escape_debug())]
    ContentType(String),
    /// The host in the URL has no address.
    #[error("find an address for `{host}`")]
    Resolve {
        /// The name that was looked up.
        host: String,
        /// What the resolver said.
        #[source]
        source: io::Error,
    },
    /// No address took the connection.
    #[error("connect to {endpoint}: {}", Attempts(.attempts))]
    Connect {
        /// Host and port as in the URL.
        endpoint: String,
        /// Every address that was tried, in order, and why it did not work.
        attempts: Vec<(SocketAddr, io::Error)>,
    },
    /// The two sides do not trust each other, or one of them does not speak TLS.
    #[error("agree on TLS with {endpoint} at {address}")]
    Tls {
        /// Host and port as in the URL.
        endpoint: String,
        /// The address that was connected to.
        address: SocketAddr,
        /// What went wrong.
        #[source]
        source: TlsFailure,
    },
    /// Nothing happened for too long.
    #[error("{stage} {endpoint}: nothing happened for {after:?}")]
    Timeout {
        /// Host and port as in the URL.
        endpoint: String,
        /// What was being waited for.
        stage: Stage,
        /// The time that was allowed.
        after: Duration,
    },
    /// The connection broke, or what came over it was not HTTP.
    #[error("speak HTTP with {endpoint}")]
    Transport {
        /// Host and port as in the URL.
        endpoint: String,
        /// What went wrong.
        #[source]
        source: hyper::Error,
    },
    /// The aggregator called an upload stored that it has not received in full.
    #[error("trust {endpoint}: it answered {status} after {sent} of {length} bytes")]
    AnsweredTooEarly {
        /// Host and port as in the URL.
        endpoint: String,
        /// The answer.
        status: StatusCode,
        /// Bytes of the body that had been sent.
        sent: u64,
        /// Bytes of the whole body.
        length: u64,
    },
    /// The aggregator refused the request.
    #[error("{request}: {endpoint} answered {status}{}", Shown(.body))]
    Refused {
        /// Host and port as in the URL.
        endpoint: String,
        /// Method and path.
        request: String,
        /// The status code.
        status: StatusCode,
        /// The body as text, cut to 64 KiB.
        body: String,
        /// How long the aggregator asked to wait (`Retry-After`, RFC 9110, section 10.2.3).
        retry_after: Option<Duration>,
    },
    /// The file to send cannot be read.
    #[error("read `{}`", .path.display())]
    Source {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The file to send grew or shrank while it was read, so the upload was broken off before its end.
    #[error("send `{}`: it had {length} bytes at first and changed while it was being sent", .path.display())]
    SourceChanged {
        /// The file.
        path: PathBuf,
        /// Its size when the upload began, in bytes.
        length: u64,
    },
    /// Every attempt failed until the deadline.
    #[error("send the result: gave up after {attempts} attempts in {elapsed:.1?}")]
    GaveUp {
        /// How often it was tried.
        attempts: u32,
        /// For how long.
        elapsed: Duration,
        /// Why the last attempt failed.
        #[source]
        last: Box<ClientError>,
    },
}

/// Why TLS did not come about.
#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    /// A certificate or a message was not acceptable, to this side or to the other.
    #[error(transparent)]
    Protocol(rustls::Error),
    /// The connection broke during the handshake.
    #[error(transparent)]
    Io(io::Error),
}

/// What a client was waiting for when its patience ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The handshake of TLS.
    Handshake,
    /// A request's bytes to leave.
    Sending,
    /// The answer to a request that was sent completely.
    Answer,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handshake => "agree on TLS with",
            Self::Sending => "send to",
            Self::Answer => "get an answer from",
        })
    }
}

impl ClientError {
    /// Whether the same request may succeed later: everything that lies between the two ends, and the answers 408, 425, 429 and 5xx.
    ///
    /// Certificates that do not match count as temporary: while an aggregator is being restarted, something else may answer at its
    /// address, and a result that took hours is worth the wait.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Timeout { .. }
            | Self::Transport { .. }
            | Self::AnsweredTooEarly { .. }
            | Self::SourceChanged { .. } => true,
            Self::Refused { status, .. } => {
                status.is_server_error()
                    || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS]
                        .contains(status)
            }
            Self::Url { .. }
            | Self::Certificates(_)
            | Self::ContentType(_)
            | Self::Source { .. }
            | Self::GaveUp { .. } => false,
        }
    }

    /// What the aggregator answered, if it will reject this result every time: it is too large (413), or an archive that cannot be
    /// unpacked (400).
    #[must_use]
    pub fn rejection(&self) -> Option<&str> {
        match self {
            Self::Refused { status: StatusCode::PAYLOAD_TOO_LARGE | StatusCode::BAD_REQUEST, body, .. } => {
                Some(body.trim())
            }
            _ => None,
        }
    }

    /// How long the aggregator asked to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Url { .. } => Some("set `AGGREGATOR_URL` to `https://HOST:PORT`"),
            Self::Certificates(_) => {
                Some("`CA_CERT`, `CLIENT_CERT` and `CLIENT_KEY` hold PEM texts, not paths of files")
            }
            Self::Resolve { .. } => Some("check `AGGREGATOR_URL` and the DNS of this node"),
            Self::Connect { .. } => Some(
                "check that the run has not ended, and that this node may connect to the aggregator's address and port",
            ),
            Self::Tls { source: TlsFailure::Protocol(error), .. } => tls_hint(error),
            Self::Tls { source: TlsFailure::Io(_), .. } => {
                Some("the connection was taken and then dropped: check for a proxy or a firewall in between")
            }
            Self::Timeout { stage: Stage::Handshake | Stage::Sending, .. } => Some(
                "the connection was taken, but nothing moves: check for a firewall in between and the load of the aggregator",
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

fn tls_hint(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => Some("compare the clocks of this node and of the aggregator's; certificates are valid for one run only"),
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some(
            "the aggregator's certificate is made for its advertised address: use that address in `AGGREGATOR_URL`",
        ),
        rustls::Error::InvalidCertificate(_) => {
            Some("what answers at this address does not belong to this run: check `AGGREGATOR_URL` and `CA_CERT`")
        }
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            Some("what answers at this address does not speak HTTP/1.1: check `AGGREGATOR_URL`")
        }
        rustls::Error::AlertReceived(_) => {
            Some("the aggregator did not accept this worker's certificate: it is expired, or from another run")
        }
        rustls::Error::InvalidMessage(_) => {
            Some("what answers at this address does not speak TLS: check `AGGREGATOR_URL`")
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
            Some("the aggregator's limit for one result is lower than its size: send less, or raise the limit")
        }
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some("the aggregator is busy"),
        _ if status.is_server_error() => Some("check the log and the disk of the aggregator"),
        _ => None,
    }
}

/// The attempts of a connection, in one line.
struct Attempts<'a>(&'a [(SocketAddr, io::Error)]);

impl fmt::Display for Attempts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (address, error)) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{address}: {error}")?;
        }
        Ok(())
    }
}

/// A refusal's text, cut, in one line, without anything that could steer a terminal.
struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.trim();
        if text.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", plumbline_core::text::excerpt(text, SHOWN_CHARACTERS))
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
    fn what_may_heal_is_told_from_what_will_not() {
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
