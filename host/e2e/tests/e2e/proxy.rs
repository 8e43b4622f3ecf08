//! A proxy to the API server with connections that break.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use kube::config::Kubeconfig;
use serde_json::Value;

use crate::bed::Bed;

/// Forwards connections, and interrupts some of them.
pub(crate) struct Proxy {
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Number of bytes that came from the server.
    brought: AtomicU64,
    /// Number of connections still to be interrupted.
    left: AtomicUsize,
}

impl Proxy {
    /// Starts a proxy in front of the API server, and writes a kubeconfig for it to `proxied.json`.
    /// The first `times` connections that transfer more than `after` bytes are interrupted.
    pub(crate) fn start(bed: &Bed, after: u64, times: usize) -> Self {
        let kubeconfig = Kubeconfig::read_from(&bed.settings().kubeconfig).unwrap();
        let mut kubeconfig = serde_json::to_value(kubeconfig).unwrap();
        let current = kubeconfig["current-context"].clone();
        let named =
            |list: &Value, name: &Value| list.as_array().unwrap().iter().position(|one| one["name"] == *name).unwrap();
        let context = named(&kubeconfig["contexts"], &current);
        let cluster = kubeconfig["contexts"][context]["context"]["cluster"].clone();
        let cluster = named(&kubeconfig["clusters"], &cluster);
        let cluster = &mut kubeconfig["clusters"][cluster]["cluster"];
        let server =
            cluster["server"].as_str().unwrap().trim_start_matches("https://").trim_end_matches('/').to_owned();
        let with_port = if server.rsplit(']').next().unwrap().contains(':') { server } else { format!("{server}:443") };
        let upstream = with_port.to_socket_addrs().unwrap().next().unwrap();
        let host = with_port.rsplit_once(':').unwrap().0.trim_matches(['[', ']']).to_owned();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        cluster["server"] = format!("https://{}", listener.local_addr().unwrap()).into();
        if cluster["tls-server-name"].is_null() {
            cluster["tls-server-name"] = host.into();
        }
        std::fs::write(bed.path("proxied.json"), kubeconfig.to_string()).unwrap();
        let seen = Arc::new(Seen { left: AtomicUsize::new(times), ..Seen::default() });
        let shared = Arc::clone(&seen);
        // The thread runs until the process ends.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let seen = Arc::clone(&shared);
                thread::spawn(move || pass_on(&client, upstream, after, &seen));
            }
        });
        Self { seen }
    }

    /// Returns the number of bytes that came through it from the server.
    pub(crate) fn brought(&self) -> u64 {
        self.seen.brought.load(Ordering::SeqCst)
    }

    /// Returns the number of connections still to be interrupted.
    pub(crate) fn left(&self) -> usize {
        self.seen.left.load(Ordering::SeqCst)
    }
}

fn pass_on(client: &TcpStream, upstream: SocketAddr, after: u64, seen: &Seen) {
    let Ok(server) = TcpStream::connect(upstream) else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = std::io::copy(&mut &*client, &mut &server);
            let _ = server.shutdown(Shutdown::Write);
        });
        let mut piece = vec![0; 16 << 10];
        let mut brought = 0;
        while let Ok(read @ 1..) = (&server).read(&mut piece) {
            if (&*client).write_all(&piece[..read]).is_err() {
                break;
            }
            brought += read as u64;
            seen.brought.fetch_add(read as u64, Ordering::SeqCst);
            let one_less = |left: usize| left.checked_sub(1);
            if brought > after && seen.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                break;
            }
        }
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    });
}
