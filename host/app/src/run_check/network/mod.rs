//! Reaches other hosts for a check, as far as they are granted.
//!
//! A name is resolved once, and the connection goes to an address that was checked. So a name that
//! changes its addresses in between leads nowhere else.

mod listen;
mod request;
mod resolve;
mod tcp;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use plumbline_core::{Host, NetworkError, Rights, is_special};
use plumbline_sandbox::{
    Connection, ConnectionAttempts, Network, NetworkFailure, RequestLimits, WebRequest, WebResponse,
};
use tokio::runtime::Runtime;

pub(super) use self::listen::Listeners;
use self::resolve::Resolver;
use super::output::because;
use crate::runtime::one_thread;

/// Reaches what `rights` grant. Starts its runtime at the first use.
pub(super) struct GrantedNetwork {
    rights: Rights,
    resolver: Resolver,
    runtime: Option<Runtime>,
}

impl GrantedNetwork {
    /// Creates the network of a check. Returns `None` if the rights grant no hosts.
    pub(super) fn new(rights: &Rights) -> Option<Self> {
        let grants_hosts = !(rights.http.is_empty() && rights.dns.is_empty() && rights.tcp.is_empty());
        grants_hosts.then(|| Self { rights: rights.clone(), resolver: Arc::new(resolve::of_the_system), runtime: None })
    }

    fn parts(&mut self) -> Result<(&Rights, &Resolver, &Runtime), NetworkFailure> {
        let runtime = match &mut self.runtime {
            Some(runtime) => runtime,
            absent => {
                let started = one_thread();
                absent.insert(started.map_err(|error| NetworkFailure::Other(because(&error).reason().to_owned()))?)
            }
        };
        Ok((&self.rights, &self.resolver, runtime))
    }
}

/// Does not wait for lookups that a check has given up.
impl Drop for GrantedNetwork {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Network for GrantedNetwork {
    fn request(&mut self, request: WebRequest, limits: RequestLimits) -> Result<WebResponse, NetworkFailure> {
        let (rights, resolver, runtime) = self.parts()?;
        runtime.block_on(request::send(rights, resolver, request, limits))
    }

    fn resolve(&mut self, name: &str, timeout: Duration) -> Result<Vec<String>, NetworkFailure> {
        let (rights, resolver, runtime) = self.parts()?;
        runtime.block_on(resolve::granted_name(rights, resolver, name, timeout))
    }

    fn connect(&mut self, attempts: ConnectionAttempts) -> Vec<Result<Connection, NetworkFailure>> {
        match self.parts() {
            Ok((rights, resolver, runtime)) => runtime.block_on(tcp::connect(rights, resolver, attempts)),
            Err(failure) => vec![Err(failure); attempts.targets.len()],
        }
    }
}

/// Returns the addresses of a host to which a check may connect.
///
/// `allows` is the right in question. A name that is granted leads to no special address, unless the
/// address is granted as well. `localhost` leads to this machine.
async fn admitted(
    resolver: &Resolver,
    host: &Host,
    port: u16,
    allows: impl Fn(&Host) -> bool,
) -> Result<Vec<SocketAddr>, NetworkFailure> {
    let name = match host {
        Host::Address(address) => return Ok(vec![SocketAddr::new(*address, port)]),
        Host::Name(name) => name,
    };
    let found = resolve::addresses(resolver, name).await?;
    let is_admitted = |address: &std::net::IpAddr| {
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
fn host(text: &str) -> Result<Host, NetworkFailure> {
    text.parse().map_err(denied)
}

/// The failure for an invalid argument.
fn denied(error: NetworkError) -> NetworkFailure {
    NetworkFailure::Denied(error.to_string())
}

fn not_granted(key: &str, entry: &str) -> NetworkFailure {
    NetworkFailure::Denied(format!("`{entry}` is not granted: add it to `plumbline.grants.{key}` of the definition"))
}

#[cfg(test)]
mod tests;
