//! Reaches other hosts for a check, as far as they are granted. Also opens the ports that a
//! definition grants, so that the checks of other nodes can connect.
//!
//! A name is resolved once, and the connection goes to an address that was checked. So a name that
//! changes its addresses in between leads nowhere else.

mod request;
mod resolve;
mod tcp;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use plumbline_core::Rights;
use plumbline_sandbox::{
    CheckFailure, Connection, ConnectionAttempts, Network, NetworkFailure, RequestLimits, WebRequest, WebResponse,
};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::sleep;

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

/// The pause after a connection could not be accepted, such as when no file may be opened.
const PAUSE: Duration = Duration::from_millis(100);

/// Open ports. Dropping it closes them.
pub(super) struct Listeners {
    _tasks: JoinSet<()>,
}

impl Listeners {
    /// Opens `ports` on all addresses. Every connection is accepted and closed.
    pub(super) async fn open(ports: &[u16]) -> Result<Self, CheckFailure> {
        let mut tasks = JoinSet::new();
        for port in ports {
            let listener = bind(*port).await;
            let listener = listener.map_err(|error| {
                CheckFailure::of(format!("failed to open port {port}, which `listen` grants: {error}"))
            })?;
            tasks.spawn(async move {
                loop {
                    if let Err(error) = listener.accept().await {
                        tracing::debug!("failed to accept a connection: {error}");
                        sleep(PAUSE).await;
                    }
                }
            });
        }
        Ok(Self { _tasks: tasks })
    }
}

/// Opens a port for IPv6 and IPv4, or only for IPv4 if the machine has no IPv6.
async fn bind(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((IpAddr::V6(Ipv6Addr::UNSPECIFIED), port)).await {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            TcpListener::bind((IpAddr::V4(Ipv4Addr::UNSPECIFIED), port)).await
        }
        result => result,
    }
}

#[cfg(test)]
mod tests;
