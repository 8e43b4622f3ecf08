//! Tries TCP connections, many at the same time.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use plumbline_core::{Host, Rights};
use plumbline_sandbox::{Connection, ConnectionAttempts, NetworkFailure};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use super::resolve::{Resolver, admitted, as_written, host, not_granted};

const AT_ONCE: usize = 64;

const PAUSE: Duration = Duration::from_secs(1);

/// Tries to connect to each target, and returns one result for each in the same order.
pub(super) async fn connect(
    rights: &Rights,
    resolver: &Resolver,
    attempts: ConnectionAttempts,
) -> Vec<Result<Connection, NetworkFailure>> {
    let ConnectionAttempts { targets, attempt, wait } = attempts;
    let (slots, until) = (Semaphore::new(AT_ONCE), Instant::now() + wait);
    let slots = &slots;
    join_all(targets.iter().map(|(name, port)| async move {
        let target = host(name)?;
        if !rights.allows_tcp(&target, *port) {
            return Err(not_granted("tcp", &entry(&target, *port)));
        }
        let resolver = as_written(resolver, name);
        loop {
            // A target that pauses leaves its slot to others.
            let result = {
                let _slot = slots.acquire().await;
                one_attempt(rights, &resolver, &target, *port, attempt).await
            };
            match result {
                Err(NetworkFailure::Denied(_)) | Ok(_) => return result,
                Err(_) if Instant::now() + PAUSE > until => return result,
                Err(_) => sleep(PAUSE).await,
            }
        }
    }))
    .await
}

/// Tries the addresses of a target one after the other, within the time of one attempt.
async fn one_attempt(
    rights: &Rights,
    resolver: &Resolver,
    target: &Host,
    port: u16,
    time: Duration,
) -> Result<Connection, NetworkFailure> {
    let tried = async {
        let mut failure = None;
        for address in admitted(resolver, target, port, |host| rights.allows_tcp(host, port)).await? {
            let start = Instant::now();
            match TcpStream::connect(address).await {
                Ok(stream) if is_to_itself(&stream, address) => {
                    failure = Some(failed(address, &ErrorKind::ConnectionRefused.into()));
                }
                Ok(_) => return Ok(Connection { address: address.to_string(), took: start.elapsed() }),
                Err(error) => failure = Some(failed(address, &error)),
            }
        }
        Err(failure.unwrap_or_else(|| NetworkFailure::NotFound(format!("`{}` has no address", entry(target, port)))))
    };
    let late =
        || NetworkFailure::Timeout(format!("`{}` did not answer in {} ms", entry(target, port), time.as_millis()));
    timeout(time, tried).await.unwrap_or_else(|_| Err(late()))
}

/// Returns whether a connection has the same address and port on both sides. The system may choose the
/// port of a target on this machine for the own side. TCP then connects the socket to itself, although
/// nothing listens.
fn is_to_itself(stream: &TcpStream, target: SocketAddr) -> bool {
    stream.local_addr().is_ok_and(|own| own == target)
}

fn failed(address: SocketAddr, error: &std::io::Error) -> NetworkFailure {
    let reason = format!("failed to connect to {address}: {error}");
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => NetworkFailure::Refused(reason),
        ErrorKind::TimedOut => NetworkFailure::Timeout(reason),
        _ => NetworkFailure::Other(reason),
    }
}

/// Writes a target as in the definition.
fn entry(target: &Host, port: u16) -> String {
    match target {
        Host::Name(name) => format!("{name}:{port}"),
        Host::Address(address) => SocketAddr::new(*address, port).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpSocket;

    use super::*;

    #[tokio::test]
    async fn a_socket_that_is_connected_to_itself_is_no_server() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = socket.local_addr().unwrap();
        let stream = socket.connect(address).await.unwrap();
        assert!(is_to_itself(&stream, address));
        let server = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = server.local_addr().unwrap();
        assert!(!is_to_itself(&TcpStream::connect(address).await.unwrap(), address));
    }
}
