//! Tests of the network of a check: what reaches the host's network, and what does not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use plumbline_core::ModuleLimits;
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{
    Connection, ConnectionAttempts, Network, NetworkFailure, RequestLimits, WebRequest, WebResponse,
};

use crate::check::{few_bytes, run_on_network};
use crate::support;

/// Where every response redirects to.
const LOCATION: &str = "http://192.0.2.2/";

/// A network in which every host answers at once. It keeps what it was asked.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<Asked>>);

#[derive(Default)]
struct Asked {
    urls: Vec<String>,
    limits: Vec<RequestLimits>,
    attempts: Vec<ConnectionAttempts>,
}

impl Network for Everything {
    fn request(&mut self, request: WebRequest, limits: RequestLimits) -> Result<WebResponse, NetworkFailure> {
        let mut asked = self.0.lock().unwrap();
        asked.urls.push(request.url);
        asked.limits.push(limits);
        let body = vec![b'x'; 1000];
        let address = "192.0.2.1:80".to_owned();
        let headers = vec![("location".to_owned(), LOCATION.to_owned())];
        Ok(WebResponse { status: 200, headers, body, certificate: None, address })
    }

    fn resolve(&mut self, _: &str, _: Duration) -> Result<Vec<String>, NetworkFailure> {
        Err(NetworkFailure::NotFound("x".repeat(1 << 20)))
    }

    fn connect(&mut self, attempts: ConnectionAttempts) -> Vec<Result<Connection, NetworkFailure>> {
        let connection = |(host, port): &(String, u16)| match port {
            1 => Ok(Connection { address: format!("{host}:1"), took: Duration::from_micros(3) }),
            _ => Err(NetworkFailure::Refused("the port is closed".to_owned())),
        };
        let results = attempts.targets.iter().map(connection).collect();
        self.0.lock().unwrap().attempts.push(attempts);
        results
    }
}

#[test]
fn a_check_reaches_hosts_and_gets_every_kind_of_result() {
    let network = Everything::default();
    let called = run_on_network(Behaviour::ReachHosts, Some(Box::new(network.clone())), &ModuleLimits::default());
    let outcomes = called.outcomes();
    assert_eq!([outcomes[0], outcomes[2], outcomes[3]], ["200", "example.com:1", "the port is closed"]);
    assert!(outcomes[1].starts_with("xxx") && outcomes[1].len() < 100_000, "a sentence is cut");
    let asked = network.0.lock().unwrap();
    assert_eq!(asked.limits, [RequestLimits { timeout: Duration::from_secs(10), body: 16 << 20 }]);
    assert!(called.result.unwrap().input_bytes > 1000);
}

pub(crate) fn hosts_need_a_grant(behaviour: Behaviour) {
    let called = run_on_network(behaviour, None, &ModuleLimits::default());
    let reason = |key: &str| format!("the definition grants no hosts: add the target to `plumbline.grants.{key}`");
    assert_eq!(called.outcomes(), [reason("http"), reason("dns"), reason("tcp"), reason("tcp")]);
}

pub(crate) fn only_a_check_can_reach_hosts(behaviour: Behaviour) {
    let called = support::run(behaviour, Vec::new(), &ModuleLimits::default());
    let outcomes: Vec<_> = called.items.iter().filter_map(|item| item.meta.get("outcome")).collect();
    assert_eq!(outcomes.len(), 3, "{:?}", called.items);
    assert!(outcomes.iter().all(|text| text.contains("only a check can reach other hosts")), "{outcomes:?}");
}

pub(crate) fn responses_end_at_the_limit(behaviour: Behaviour) {
    let network = Everything::default();
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &few_bytes());
    called.fails("module `misbehave` exceeded its limit `input-bytes`: 1 MiB");
    let asked = network.0.lock().unwrap();
    assert!(asked.urls.len() < 1100, "{}", asked.urls.len());
    assert!(asked.limits.last().unwrap().body < 2000, "a body is never larger than what may still be read");
}

pub(crate) fn requests_are_bounded(behaviour: Behaviour) {
    let network = Everything::default();
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &ModuleLimits::default());
    assert_eq!(
        called.outcomes(),
        [
            "the method of the request has 8193 bytes, more than 8192",
            "the URL of the request has 8193 bytes, more than 8192",
            "the header of the request has 65538 bytes, more than 65536",
            "the body of the request has 1048577 bytes, more than 1048576",
            "the list of certificates of the request has 1048577 bytes, more than 1048576",
            "the name has more than 8192 bytes",
        ]
    );
    assert!(network.0.lock().unwrap().urls.is_empty());
}

pub(crate) fn targets_of_a_call_are_bounded(behaviour: Behaviour) {
    let network = Everything::default();
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &ModuleLimits::default());
    let outcomes = called.outcomes();
    assert!(outcomes.first().unwrap().contains("there are 1025 targets: pass at most 1024"), "{outcomes:?}");
    assert!(network.0.lock().unwrap().attempts.is_empty());
}

pub(crate) fn a_check_waits_no_longer_than_its_time(behaviour: Behaviour) {
    let network = Everything::default();
    let limits = ModuleLimits { wall_seconds: 100, ..ModuleLimits::default() };
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &limits);
    assert!(called.result.is_ok(), "{:?}", called.result);
    let asked = network.0.lock().unwrap();
    let ConnectionAttempts { attempt, wait, .. } = asked.attempts.first().unwrap();
    assert!(*attempt <= Duration::from_secs(60) && *wait <= Duration::from_secs(100), "{attempt:?} {wait:?}");
}

pub(crate) fn a_check_waits_for_a_response_no_longer_than_its_time(behaviour: Behaviour) {
    let network = Everything::default();
    let limits = ModuleLimits { wall_seconds: 100, ..ModuleLimits::default() };
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &limits);
    assert_eq!(called.outcomes(), ["200"]);
    let timeout = network.0.lock().unwrap().limits.first().unwrap().timeout;
    assert!(timeout <= Duration::from_secs(100), "{timeout:?}");
}

pub(crate) fn the_target_of_a_redirect_is_a_request_of_its_own(behaviour: Behaviour) {
    let network = Everything::default();
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &ModuleLimits::default());
    assert_eq!(called.outcomes(), ["200", "200"]);
    assert_eq!(network.0.lock().unwrap().urls, ["http://example.com/", LOCATION]);
}

pub(crate) fn metadata_services_need_a_grant(behaviour: Behaviour) {
    let called = run_on_network(behaviour, None, &ModuleLimits::default());
    let outcomes = called.outcomes();
    assert_eq!(outcomes.len(), 12, "a request and a connection for each form of the address");
    assert!(outcomes.iter().all(|text| text.starts_with("the definition grants no hosts")), "{outcomes:?}");
}

pub(crate) fn each_use_of_a_name_is_up_to_the_host(behaviour: Behaviour) {
    let network = Everything::default();
    let called = run_on_network(behaviour, Some(Box::new(network.clone())), &ModuleLimits::default());
    assert_eq!(called.outcomes().len(), 8);
    let asked = network.0.lock().unwrap();
    // The host gets the name each time, and never an address that the check chose.
    assert_eq!(asked.urls, ["http://rebind.example.com:80/"; 4]);
    let targets: Vec<_> = asked.attempts.iter().flat_map(|attempts| attempts.targets.clone()).collect();
    assert_eq!(targets, vec![("rebind.example.com".to_owned(), 80); 4]);
}
