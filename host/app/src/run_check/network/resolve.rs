//! Resolves names, and decides which of their addresses a check may reach.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns_lookup::{AddrInfoHints, LookupError, LookupErrorKind, SockType};
use plumbline_core::{Host, NetworkError, Rights, is_special};
use plumbline_sandbox::NetworkFailure;
use tokio::time::timeout;

const MAX_ADDRESSES: usize = 1000;

/// Returns the addresses of a name. Blocks: [`of_the_system`], or a function of a test.
pub(super) type Resolver = Arc<dyn Fn(&str) -> Result<Vec<IpAddr>, LookupError> + Send + Sync>;

/// Returns the addresses of a name that a check may resolve, as text in lexical order.
pub(super) async fn granted_name(
    rights: &Rights,
    resolver: &Resolver,
    text: &str,
    time: Duration,
) -> Result<Vec<String>, NetworkFailure> {
    let Host::Name(name) = host(text)? else {
        return Err(NetworkFailure::Denied(format!("`{text}` is an address and not a name")));
    };
    if !rights.allows_dns(&name) {
        return Err(not_granted("dns", &name));
    }
    let late = |_| NetworkFailure::Timeout(format!("`{name}` was not resolved in {} s", time.as_secs()));
    let found = timeout(time, addresses(&as_written(resolver, text), &name)).await.map_err(late)??;
    let mut texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    texts.sort();
    Ok(texts)
}

/// Returns the resolver for a host that a check writes as `text`. A dot at the end of a name keeps the
/// system from trying the name in other domains, where it may exist.
pub(super) fn as_written(resolver: &Resolver, text: &str) -> Resolver {
    let inner = Arc::clone(resolver);
    if text.ends_with('.') { Arc::new(move |name: &str| inner(&format!("{name}."))) } else { inner }
}

/// Returns the addresses of a name, each once, in the order in which connections should be tried.
async fn addresses(resolver: &Resolver, name: &str) -> Result<Vec<IpAddr>, NetworkFailure> {
    let (resolver, owned) = (Arc::clone(resolver), name.to_owned());
    // A thread that waits for an answer cannot be interrupted. It ends with the resolver's own time
    // limit, and nobody waits for it.
    let found = tokio::task::spawn_blocking(move || resolver(&owned)).await;
    let found = found.map_err(|error| NetworkFailure::Other(format!("failed to resolve `{name}`: {error}")))?;
    match found {
        Ok(found) if found.is_empty() => Err(NetworkFailure::NotFound(format!("`{name}` has no address"))),
        Ok(found) => Ok(found),
        Err(error) => Err(failure(name, error)),
    }
}

/// Returns the addresses of a name by the resolver of the system.
pub(super) fn of_the_system(name: &str) -> Result<Vec<IpAddr>, LookupError> {
    let hints = AddrInfoHints { socktype: SockType::Stream.into(), ..AddrInfoHints::default() };
    let mut found = Vec::new();
    for info in dns_lookup::getaddrinfo(Some(name), None, Some(hints))?.take(MAX_ADDRESSES) {
        let address = info?.sockaddr.ip();
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}

/// Returns the addresses of a host to which a check may connect.
///
/// `allows` is the right in question. A name that is granted leads to no special address, unless the
/// address is granted as well. `localhost` leads to this machine.
pub(super) async fn admitted(
    resolver: &Resolver,
    host: &Host,
    port: u16,
    allows: impl Fn(&Host) -> bool,
) -> Result<Vec<SocketAddr>, NetworkFailure> {
    let name = match host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => name,
    };
    let found = addresses(resolver, name).await?;
    let is_admitted = |address: &IpAddr| {
        !is_special(*address)
            || (name == "localhost" && address.is_loopback())
            || allows(&Host::Address(address.to_canonical()))
    };
    let admitted: Vec<SocketAddr> =
        found.iter().copied().filter(is_admitted).map(|address| SocketAddr::new(address, port)).collect();
    match found.first() {
        Some(first) if admitted.is_empty() => Err(NetworkFailure::Denied(format!(
            "`{name}` has the address {first}, which is local or reserved: grant the address itself"
        ))),
        _ => Ok(admitted),
    }
}

/// Reads a host of a check.
pub(super) fn host(text: &str) -> Result<Host, NetworkFailure> {
    text.parse().map_err(denied)
}

/// The failure for an invalid argument.
pub(super) fn denied(error: NetworkError) -> NetworkFailure {
    NetworkFailure::Denied(error.to_string())
}

pub(super) fn not_granted(key: &str, entry: &str) -> NetworkFailure {
    NetworkFailure::Denied(format!("`{entry}` is not granted: add it to `plumbline.grants.{key}` of the definition"))
}

fn failure(name: &str, error: LookupError) -> NetworkFailure {
    let kind = error.kind();
    match kind {
        LookupErrorKind::NoName | LookupErrorKind::NoData => {
            NetworkFailure::NotFound(format!("`{name}` does not exist"))
        }
        LookupErrorKind::Again => NetworkFailure::Other(format!("failed to resolve `{name}`: no name server answered")),
        _ => NetworkFailure::Other(format!("failed to resolve `{name}`: {}", std::io::Error::from(error))),
    }
}
