//! What a check reaches: requests to web servers, name resolution, and connection attempts.

use std::fmt;
use std::time::Duration;

/// Why a request, a resolution, or a connection attempt failed. Each text is one sentence of the
/// host.
///
/// After [`NetworkError::Denied`] and [`NetworkError::Other`], a check knows nothing about the
/// target, so the status of its item is `unknown` and not `failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// The definition does not grant it, or an argument is invalid.
    Denied(String),
    /// The name does not exist, or has no address.
    NotFound(String),
    /// The target refused or reset the connection.
    Refused(String),
    /// The time limit was exceeded.
    Timeout(String),
    /// The TLS handshake failed: an invalid certificate, or no TLS at all.
    Tls(String),
    /// Another cause.
    Other(String),
}

impl NetworkError {
    /// Returns whether the failure says something about the target.
    #[must_use]
    pub const fn is_of_the_target(&self) -> bool {
        !matches!(self, Self::Denied(_) | Self::Other(_))
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Denied(text)
        | Self::NotFound(text)
        | Self::Refused(text)
        | Self::Timeout(text)
        | Self::Tls(text)
        | Self::Other(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for NetworkError {}

impl From<NetworkError> for String {
    fn from(error: NetworkError) -> Self {
        error.to_string()
    }
}

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Those of the CAs of the system on which the check runs.
    #[default]
    System,
    /// Those of these CAs: certificates in PEM form.
    Certificates(String),
    /// All. Such a request proves nothing about the identity of the server.
    Any,
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, such as `GET`.
    pub method: String,
    /// The URL: `http` or `https`, without a user.
    pub url: String,
    /// The header fields.
    pub headers: Vec<(String, String)>,
    /// The body: at most 1 MiB.
    pub body: Vec<u8>,
    /// Which certificates are accepted, if the URL is `https`.
    pub trust: Trust,
    /// The time limit for everything: at most 5 min. The default is 10 s.
    pub timeout: Duration,
}

impl Request {
    /// Creates a request with the method `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            method: "GET".to_owned(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            trust: Trust::System,
            timeout: Duration::from_secs(10),
        }
    }

    /// Adds a header field.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets which certificates are accepted.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the time limit.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The status code. The host does not follow redirects.
    pub status: u16,
    /// The header fields, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body: at most 16 MiB. A longer one is an error.
    pub body: Vec<u8>,
    /// The certificate of the server in DER form, if the URL is `https`.
    pub certificate: Option<Vec<u8>>,
    /// The address and port of the server.
    pub address: String,
}

impl Response {
    /// Creates a response for tests.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// Returns the first value of a header field, whose name is in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A host and port to which a check tries to connect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// A name, or an address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Target {
    /// Creates a target.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

/// The time limits of connection attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    /// The time of one attempt: at most 60 s.
    pub timeout: Duration,
    /// How long failed attempts are repeated, about once a second. Zero for one attempt.
    pub wait: Duration,
}

/// One attempt of 5 s.
impl Default for Attempts {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5), wait: Duration::ZERO }
    }
}

/// A connection that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Connection {
    /// The address and port.
    pub address: String,
    /// The time from the start of the attempt until it was open.
    pub took: Duration,
}

/// The maximum number of targets that the host takes at once.
pub(crate) const MAX_TARGETS: usize = 1024;
