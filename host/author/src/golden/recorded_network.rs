//! The recorded answers of hosts in a case, which a check gets in place of a network.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use plumbline_core::{Host, NetworkError, Rights, WebTarget};
use plumbline_sandbox::{
    Connection, ConnectionAttempts, Network, NetworkFailure, RequestLimits, WebRequest, WebResponse,
};
use serde::Deserialize;

use super::actual::{document, unusable};
use super::case::NETWORK;
use super::recorded::Unrecorded;

/// The time that a recorded connection took.
const TOOK: Duration = Duration::from_millis(1);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Recording {
    requests: Vec<Request>,
    names: BTreeMap<String, Found>,
    connections: BTreeMap<String, Outcome>,
}

/// The answer to a request: a response or a failure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default = "get")]
    method: String,
    url: String,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    failure: Option<FailureKind>,
}

fn get() -> String {
    "GET".to_owned()
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Found {
    Addresses(Vec<String>),
    Failure(FailureKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Open,
    Refused,
    Timeout,
    NotFound,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FailureKind {
    NotFound,
    Refused,
    Timeout,
    Tls,
    Other,
}

impl FailureKind {
    fn of(self, target: &str) -> NetworkFailure {
        let sentence = |what: &str| format!("`{target}` {what}");
        match self {
            Self::NotFound => NetworkFailure::NotFound(sentence("does not exist")),
            Self::Refused => NetworkFailure::Refused(sentence("refused the connection")),
            Self::Timeout => NetworkFailure::Timeout(sentence("did not answer in time")),
            Self::Tls => NetworkFailure::Tls(sentence("has no valid certificate")),
            Self::Other => NetworkFailure::Other(sentence("could not be reached")),
        }
    }
}

/// The recorded answers, and what the definition grants of them.
pub(super) struct RecordedNetwork {
    grants: Rights,
    recording: Recording,
    unrecorded: Unrecorded,
}

impl RecordedNetwork {
    /// Reads the answers of `case`. The error is a sentence.
    pub(super) fn read(case: &Path, grants: Rights, unrecorded: Unrecorded) -> Result<Self, String> {
        let path = case.join(NETWORK);
        let bytes = if path.exists() { document(&path)? } else { Vec::new() };
        let recording = match bytes.trim_ascii() {
            [] => Recording::default(),
            bytes => serde_saphyr::from_slice::<Recording>(bytes).map_err(|error| unusable(&path, &error))?,
        };
        for Request { url, status, failure, .. } in &recording.requests {
            if status.is_some() == failure.is_some() {
                return Err(unusable(
                    &path,
                    &format_args!("the request to `{url}` needs either `status` or `failure`"),
                ));
            }
        }
        Ok(Self { grants, recording, unrecorded })
    }

    /// Returns the failure for what the case does not have.
    fn missing(&self, what: &str) -> NetworkFailure {
        let sentence = format!("the case has no recording of {what} in `{NETWORK}`");
        self.unrecorded.add(&sentence);
        NetworkFailure::Denied(sentence)
    }

    fn connection(&self, host: &str, port: u16) -> Result<Connection, NetworkFailure> {
        let target = format!("{host}:{port}");
        let parsed: Host = host.parse().map_err(denied)?;
        if !self.grants.allows_tcp(&parsed, port) {
            return Err(not_granted("tcp", &target));
        }
        let outcome = self.recording.connections.get(&target);
        match outcome.ok_or_else(|| self.missing(&format!("the connection to `{target}`")))? {
            Outcome::Open => Ok(Connection { address: target, took: TOOK }),
            Outcome::Refused => Err(FailureKind::Refused.of(&target)),
            Outcome::Timeout => Err(FailureKind::Timeout.of(&target)),
            Outcome::NotFound => Err(FailureKind::NotFound.of(&target)),
            Outcome::Other => Err(FailureKind::Other.of(&target)),
        }
    }
}

impl Network for RecordedNetwork {
    fn request(&mut self, request: WebRequest, _: RequestLimits) -> Result<WebResponse, NetworkFailure> {
        let WebRequest { method, url, .. } = request;
        let target: WebTarget = url.parse().map_err(denied)?;
        if !self.grants.allows_http(&target, &target.host) {
            return Err(not_granted("http", &target.url.origin().ascii_serialization()));
        }
        let recorded = self.recording.requests.iter().find(|known| known.method == method && known.url == url);
        let Some(Request { status, headers, body, failure, .. }) = recorded else {
            return Err(self.missing(&format!("the request `{method} {url}`")));
        };
        match (failure, status) {
            (None, Some(status)) => Ok(WebResponse {
                status: *status,
                headers: headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect(),
                body: body.clone().into_bytes(),
                certificate: None,
                address: format!("{}:{}", target.url.host_str().unwrap_or_default(), target.port),
            }),
            (failure, _) => Err(failure.unwrap_or(FailureKind::Other).of(&url)),
        }
    }

    fn resolve(&mut self, name: &str, _: Duration) -> Result<Vec<String>, NetworkFailure> {
        let Host::Name(parsed) = name.parse::<Host>().map_err(denied)? else {
            return Err(NetworkFailure::Denied(format!("`{name}` is an address and not a name")));
        };
        if !self.grants.allows_dns(&parsed) {
            return Err(not_granted("dns", &parsed));
        }
        match self.recording.names.get(name) {
            Some(Found::Addresses(addresses)) => Ok(addresses.clone()),
            Some(Found::Failure(failure)) => Err(failure.of(name)),
            None => Err(self.missing(&format!("the name `{name}`"))),
        }
    }

    fn connect(&mut self, attempts: ConnectionAttempts) -> Vec<Result<Connection, NetworkFailure>> {
        attempts.targets.iter().map(|(host, port)| self.connection(host, *port)).collect()
    }
}

fn denied(error: NetworkError) -> NetworkFailure {
    NetworkFailure::Denied(error.to_string())
}

fn not_granted(key: &str, entry: &str) -> NetworkFailure {
    NetworkFailure::Denied(format!("`{entry}` is not granted: add it to `plumbline.grants.{key}` of the definition"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_in_a_run() {
        let case = tempfile::tempdir().unwrap();
        let names = "names: {10.0.0.1: [10.0.0.1], Example.com: [192.0.2.1]}\n";
        std::fs::write(case.path().join(NETWORK), names).unwrap();
        let resolve = |granted: &str, name: &str| {
            let grants = serde_json::from_value(serde_json::json!({"dns": [granted]})).unwrap();
            let mut network = RecordedNetwork::read(case.path(), grants, Unrecorded::default()).unwrap();
            network.resolve(name, Duration::ZERO)
        };
        assert_eq!(resolve("example.com", "Example.com"), Ok(vec!["192.0.2.1".to_owned()]));
        assert!(matches!(resolve("*", "10.0.0.1"), Err(NetworkFailure::Denied(_))));
    }
}
