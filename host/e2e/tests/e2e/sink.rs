//! An HTTP server that accepts `PUT` requests, but rejects the first one.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::bed::Bed;

/// Maximum size of a body in bytes: more than any archive of these tests.
const MAX_BYTES: u64 = 256 << 20;

/// A request: its first line, its headers by lower-case names, its body.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// The server.
pub(crate) struct Sink {
    pub(crate) address: String,
    taken: Arc<Mutex<Vec<Taken>>>,
}

impl Sink {
    /// Starts a server that pods can reach: at the address from which this machine connects to the
    /// API server. Returns `None` if that is a loopback address.
    pub(crate) fn start(bed: &Bed) -> Option<Self> {
        let ip = own_address(bed).filter(|ip| !ip.is_loopback())?;
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let taken = Arc::<Mutex<Vec<Taken>>>::default();
        let shared = Arc::clone(&taken);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let taken = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &taken));
            }
        });
        Some(Self { address, taken })
    }

    /// Returns the requests, whether rejected or not.
    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the address of this machine on the route to the API server. This sends no packets.
pub(crate) fn own_address(bed: &Bed) -> Option<IpAddr> {
    let kubeconfig = kube::config::Kubeconfig::read_from(&bed.settings().kubeconfig).ok()?;
    let server = kubeconfig.clusters.first()?.cluster.as_ref()?.server.clone()?;
    let authority = server.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect(authority).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn serve(stream: &TcpStream, taken: &Mutex<Vec<Taken>>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).is_err() {
        return;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        match reader.read_line(&mut header) {
            Ok(1..) if !header.trim().is_empty() => {}
            _ => break,
        }
        if let Some((name, value)) = header.split_once(':') {
            headers.insert(name.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0_u64);
    let mut body = Vec::new();
    if reader.take(length.min(MAX_BYTES)).read_to_end(&mut body).is_err() {
        return;
    }
    let mut all = taken.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = if all.is_empty() { "503 Service Unavailable" } else { "201 Created" };
    all.push(Taken { line: line.trim().to_owned(), headers, body });
    drop(all);
    let _ = write!(&*stream, "HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
}
