//! The hosts that a check reaches: requests, name resolution, and connection attempts.

use std::time::Duration;

use crate::call::emit::ENTRY_BYTES;
use crate::call::limits::{Clock, Meter};
use crate::failure::{MAX_SENTENCE, Stop, cut};

/// The maximum number of targets of one call, as in the WIT.
const MAX_TARGETS: usize = 1024;
/// The maximum size of a request's body in bytes, as in the WIT.
const MAX_REQUEST_BODY: usize = 1 << 20;
/// The maximum size of a response's body in bytes, as in the WIT.
const MAX_RESPONSE_BODY: u64 = 16 << 20;
/// The maximum length of a URL, a name, or a method in bytes.
const MAX_TEXT: usize = 8 << 10;
/// The maximum size of all header fields of a request in bytes.
const MAX_HEADERS: usize = 64 << 10;
/// The maximum size of the certificates of a request in bytes.
const MAX_CERTIFICATES: usize = 1 << 20;

/// The default and the maximum time of a request, as in the WIT.
const REQUEST_TIME: Range = Range { default: Duration::from_secs(10), max: Duration::from_secs(300) };
/// The default and the maximum time of a connection attempt, as in the WIT.
const ATTEMPT_TIME: Range = Range { default: Duration::from_secs(5), max: Duration::from_secs(60) };
/// The time to resolve a name.
const RESOLVE_TIME: Duration = Duration::from_secs(10);

struct Range {
    default: Duration,
    max: Duration,
}

impl Range {
    /// Returns the time for `milliseconds`, 0 being the default, but not more than the call has left.
    fn time(&self, milliseconds: u32, clock: &Clock) -> Duration {
        let wanted = match milliseconds {
            0 => self.default,
            some => Duration::from_millis(some.into()).min(self.max),
        };
        clock.left().map_or(wanted, |left| wanted.min(left))
    }
}

/// Why a request, a resolution or a connection attempt of a check failed. The text is one sentence
/// with the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkFailure {
    /// It is not granted, or an argument is invalid.
    Denied(String),
    /// The name does not exist, or has no address.
    NotFound(String),
    /// The target refused or reset the connection.
    Refused(String),
    /// The time limit was exceeded.
    Timeout(String),
    /// The TLS handshake failed.
    Tls(String),
    /// Another cause.
    Other(String),
}

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Those of the CAs of the system.
    System,
    /// Those of these CAs, in PEM form.
    Certificates(String),
    /// All.
    Any,
}

/// An HTTP request of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebRequest {
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// The header fields.
    pub headers: Vec<(String, String)>,
    /// The body: at most 1 MiB.
    pub body: Vec<u8>,
    /// Which certificates are accepted.
    pub trust: Trust,
}

/// The limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// The time until the response is complete.
    pub timeout: Duration,
    /// The maximum size of the response's body in bytes.
    pub body: u64,
}

/// The response to a request of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebResponse {
    /// The status code.
    pub status: u16,
    /// The header fields, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The certificate of the server in DER form.
    pub certificate: Option<Vec<u8>>,
    /// The address and port of the server.
    pub address: String,
}

/// Targets to which a check tries to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionAttempts {
    /// Hosts and ports.
    pub targets: Vec<(String, u16)>,
    /// The time limit of one attempt.
    pub attempt: Duration,
    /// How long failed attempts are repeated.
    pub wait: Duration,
}

/// A connection that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The address and port.
    pub address: String,
    /// The time until it was open.
    pub took: Duration,
}

/// Reaches other hosts for a check. It decides what the check may reach. Runs on the module's thread.
pub trait Network: Send {
    /// Sends a request and returns the response, whatever its status is.
    fn request(&mut self, request: WebRequest, limits: RequestLimits) -> Result<WebResponse, NetworkFailure>;

    /// Returns the addresses of a name.
    fn resolve(&mut self, name: &str, timeout: Duration) -> Result<Vec<String>, NetworkFailure>;

    /// Tries all connections, and returns one result for each target in the same order.
    fn connect(&mut self, attempts: ConnectionAttempts) -> Vec<Result<Connection, NetworkFailure>>;
}

pub(crate) enum Reach {
    /// The call is that of another role.
    OtherRole,
    /// The definition grants no hosts.
    NotGranted,
    Network(Box<dyn Network>),
}

impl Reach {
    /// Creates the state for a check. Without a network, the definition grants no hosts.
    pub(crate) fn of_a_check(network: Option<Box<dyn Network>>) -> Self {
        network.map_or(Self::NotGranted, Self::Network)
    }

    pub(crate) fn request(
        &mut self,
        request: WebRequest,
        timeout_ms: u32,
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Result<WebResponse, NetworkFailure>, Stop> {
        clock.check()?;
        let network = match self.network("http") {
            Ok(network) => network,
            Err(failure) => return Ok(Err(failure)),
        };
        if let Err(reason) = check_size(&request) {
            return Ok(Err(NetworkFailure::Denied(reason)));
        }
        let timeout = REQUEST_TIME.time(timeout_ms, clock);
        let limits = RequestLimits { timeout, body: MAX_RESPONSE_BODY.min(meter.left()) };
        let response = network.request(request, limits);
        match &response {
            Ok(response) => {
                let headers = response.headers.iter().map(|(name, value)| name.len() + value.len());
                let certificate = response.certificate.as_ref().map_or(0, Vec::len);
                charge(meter, headers.sum::<usize>() + response.body.len() + certificate)?;
            }
            Err(_) => charge(meter, 0)?,
        }
        clock.check()?;
        Ok(response.map_err(NetworkFailure::cut))
    }

    pub(crate) fn resolve(
        &mut self,
        name: &str,
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Result<Vec<String>, NetworkFailure>, Stop> {
        clock.check()?;
        let network = match self.network("dns") {
            Ok(network) => network,
            Err(failure) => return Ok(Err(failure)),
        };
        if name.len() > MAX_TEXT {
            return Ok(Err(NetworkFailure::Denied(format!("the name has more than {MAX_TEXT} bytes"))));
        }
        let found = network.resolve(name, clock.left().map_or(RESOLVE_TIME, |left| left.min(RESOLVE_TIME)));
        charge(meter, found.as_ref().map_or(0, |found| found.iter().map(String::len).sum()))?;
        clock.check()?;
        Ok(found.map_err(NetworkFailure::cut))
    }

    pub(crate) fn connect(
        &mut self,
        targets: Vec<(String, u16)>,
        [attempt_ms, wait_ms]: [u32; 2],
        clock: &Clock,
        meter: &Meter,
    ) -> Result<Vec<Result<Connection, NetworkFailure>>, Stop> {
        clock.check()?;
        let all = |failure: &NetworkFailure| targets.iter().map(|_| Err(failure.clone())).collect();
        let network = match self.network("tcp") {
            Ok(network) => network,
            Err(failure) => return Ok(all(&failure)),
        };
        if targets.len() > MAX_TARGETS {
            let reason = format!("there are {} targets: pass at most {MAX_TARGETS}", targets.len());
            return Ok(all(&NetworkFailure::Denied(reason)));
        }
        let count = targets.len();
        let wait = Duration::from_millis(wait_ms.into());
        let attempts = ConnectionAttempts {
            targets,
            attempt: ATTEMPT_TIME.time(attempt_ms, clock),
            wait: clock.left().map_or(wait, |left| wait.min(left)),
        };
        let results = network.connect(attempts);
        meter.charge(ENTRY_BYTES.saturating_mul(count as u64))?;
        clock.check()?;
        Ok(results.into_iter().map(|result| result.map_err(NetworkFailure::cut)).collect())
    }

    fn network(&mut self, right: &str) -> Result<&mut dyn Network, NetworkFailure> {
        let reason = match self {
            Self::Network(network) => return Ok(&mut **network),
            Self::OtherRole => "only a check can reach other hosts".to_owned(),
            Self::NotGranted => {
                format!("the definition grants no hosts: add the target to `plumbline.grants.{right}`")
            }
        };
        Err(NetworkFailure::Denied(reason))
    }
}

impl NetworkFailure {
    /// Cuts the sentence to the length that modules get.
    fn cut(self) -> Self {
        let cut = |text: String| cut(&text, MAX_SENTENCE);
        match self {
            Self::Denied(text) => Self::Denied(cut(text)),
            Self::NotFound(text) => Self::NotFound(cut(text)),
            Self::Refused(text) => Self::Refused(cut(text)),
            Self::Timeout(text) => Self::Timeout(cut(text)),
            Self::Tls(text) => Self::Tls(cut(text)),
            Self::Other(text) => Self::Other(cut(text)),
        }
    }
}

fn check_size(request: &WebRequest) -> Result<(), String> {
    let WebRequest { method, url, headers, body, trust, .. } = request;
    let fields: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let certificates = if let Trust::Certificates(pem) = trust { pem.len() } else { 0 };
    for (what, size, limit) in [
        ("method", method.len(), MAX_TEXT),
        ("URL", url.len(), MAX_TEXT),
        ("header", fields, MAX_HEADERS),
        ("body", body.len(), MAX_REQUEST_BODY),
        ("list of certificates", certificates, MAX_CERTIFICATES),
    ] {
        if size > limit {
            return Err(format!("the {what} of the request has {size} bytes, more than {limit}"));
        }
    }
    Ok(())
}

fn charge(meter: &Meter, bytes: usize) -> Result<(), Stop> {
    meter.charge((bytes as u64).saturating_add(ENTRY_BYTES))
}
