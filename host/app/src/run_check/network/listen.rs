//! Opens the ports that a definition grants, so that the checks of other nodes can connect.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use plumbline_sandbox::CheckFailure;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The pause after a connection could not be accepted, such as when no file may be opened.
const PAUSE: Duration = Duration::from_millis(100);

/// Open ports. Dropping it closes them.
pub(in crate::run_check) struct Listeners {
    _tasks: JoinSet<()>,
}

impl Listeners {
    /// Opens `ports` on all addresses. Every connection is accepted and closed.
    pub(in crate::run_check) async fn open(ports: &[u16]) -> Result<Self, CheckFailure> {
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
