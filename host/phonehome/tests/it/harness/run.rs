//! A run with its certificates, and policies for tests.

use std::net::SocketAddr;
use std::time::Duration;

use plumbline_phonehome::{Client, ClientConfig, Issued, ResultKey, RetryPolicy, RunCa, RunId, Timeouts, Timestamp};

/// A run whose aggregator is on this machine.
pub(crate) struct Run {
    pub(crate) ca: RunCa,
    pub(crate) server: Issued,
}

impl Run {
    pub(crate) fn new() -> Self {
        Self::at(Timestamp::now(), &["127.0.0.1", "localhost"])
    }

    /// Creates a run that started at `begun` and lasts an hour.
    pub(crate) fn at(begun: Timestamp, hosts: &[&str]) -> Self {
        let ca = RunCa::generate(&RunId::random(), Duration::from_secs(3600), begun).unwrap();
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let server = ca.issue_server(&hosts).unwrap();
        Self { ca, server }
    }

    /// Returns the configuration of a worker of `plugin` for an aggregator at `address`.
    pub(crate) fn config(&self, plugin: &str, address: SocketAddr) -> ClientConfig {
        let issued = self.ca.issue_client(&plugin.parse().unwrap()).unwrap();
        ClientConfig {
            aggregator_url: format!("https://{address}"),
            ca_cert: self.ca.certificate_pem().to_owned(),
            client_cert: issued.certificate_pem,
            client_key: issued.key_pem,
        }
    }

    /// Returns a client of plugin `e2e` that waits for the go-ahead indefinitely.
    pub(crate) fn client(&self, address: SocketAddr) -> Client {
        Client::with_timeouts(&self.config("e2e", address), unhurried()).unwrap()
    }
}

/// Returns the key of the cluster-wide result of plugin `e2e`.
pub(crate) fn key() -> ResultKey {
    ResultKey::global("e2e".parse().unwrap())
}

/// Returns timeouts with which no test fails on a busy machine, but a missing go-ahead is noticed.
pub(crate) fn unhurried() -> Timeouts {
    let long = Duration::from_secs(120);
    Timeouts { connect: long, tls: long, idle: long, upload_answer: long, message_answer: long, go_ahead: long }
}

/// Returns a policy with many attempts in quick succession.
pub(crate) fn quick() -> RetryPolicy {
    RetryPolicy { deadline: Duration::from_secs(120), first: Duration::from_millis(1), max: Duration::from_millis(4) }
}

/// Returns a policy with a few attempts and a short deadline.
pub(crate) fn no_patience() -> RetryPolicy {
    RetryPolicy { deadline: Duration::from_millis(50), ..quick() }
}
