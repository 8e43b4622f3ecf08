//! A client that sends arbitrary bytes over real TLS.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use plumbline_aggregator::WorkerAccess;
use plumbline_phonehome::client_config;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::PATIENCE;

/// A response, read completely.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// Returns the head of a `PUT` of `path` (below `/api/v1/results/`) with additional header lines.
pub(crate) fn put_head(path: &str, headers: &[&str]) -> String {
    let mut head = format!("PUT /api/v1/results/{path} HTTP/1.1\r\nHost: aggregator\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head
}

/// Returns a `PUT` of `path` with 100 KiB in chunks. `headers` must announce them.
pub(crate) fn chunked_put(path: &str, headers: &[&str]) -> Vec<u8> {
    let mut request = put_head(path, headers).into_bytes();
    for _ in 0..100 {
        request.extend_from_slice(b"400\r\n");
        request.extend_from_slice(&[b'x'; 0x400]);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    request
}

pub(crate) struct Raw {
    stream: TlsStream<TcpStream>,
    seen: Vec<u8>,
}

impl Raw {
    pub(crate) async fn connect(access: &WorkerAccess) -> Self {
        let config = client_config(&access.ca_cert, &access.client_cert, &access.client_key).unwrap();
        Self::connect_with(access, config).await.unwrap()
    }

    pub(crate) async fn try_connect(access: &WorkerAccess) -> io::Result<Self> {
        Self::connect_with(access, client_config(&access.ca_cert, &access.client_cert, &access.client_key).unwrap())
            .await
    }

    pub(crate) async fn connect_with(access: &WorkerAccess, config: rustls::ClientConfig) -> io::Result<Self> {
        let address = access.aggregator_url.strip_prefix("https://").unwrap();
        let tcp = TcpStream::connect(address).await?;
        let name = ServerName::try_from(address.rsplit_once(':').unwrap().0.to_owned()).unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
        Ok(Self { stream, seen: Vec::new() })
    }

    /// Sends bytes. An error because the server has closed the connection is not a test failure,
    /// because the response decides.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Reads the next response. An interim response (100) counts as a response.
    pub(crate) async fn answer(&mut self) -> Answer {
        tokio::time::timeout(PATIENCE, self.read_answer()).await.expect("no answer")
    }

    /// Sends the whole request and reads the response.
    pub(crate) async fn exchange(access: &WorkerAccess, request: impl AsRef<[u8]>) -> Answer {
        let mut raw = Self::connect(access).await;
        // A rejection can arrive before everything was sent.
        let _ = raw.send(request).await;
        raw.answer().await
    }

    async fn read_answer(&mut self) -> Answer {
        let end = loop {
            if let Some(at) = self.seen.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            assert!(self.fill().await > 0, "no answer, but: {:?}", String::from_utf8_lossy(&self.seen));
        };
        let head = String::from_utf8(self.seen.drain(..end + 4).take(end).collect()).unwrap();
        let mut lines = head.split("\r\n");
        let status: u16 = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: BTreeMap<String, String> = lines
            .map(|line| line.split_once(':').unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        while self.seen.len() < length {
            assert!(self.fill().await > 0, "the answer ends in the middle");
        }
        let body = String::from_utf8(self.seen.drain(..length).collect()).unwrap();
        Answer { status, headers, body }
    }

    /// Reads until the server closes the connection, and returns all bytes.
    pub(crate) async fn rest(mut self) -> Vec<u8> {
        let read = async { while self.fill().await > 0 {} };
        tokio::time::timeout(PATIENCE, read).await.expect("the server does not close the connection");
        self.seen
    }

    async fn fill(&mut self) -> usize {
        let mut buffer = [0; 4096];
        // An abrupt end of the connection counts as the end too.
        let read = self.stream.read(&mut buffer).await.unwrap_or(0);
        self.seen.extend_from_slice(&buffer[..read]);
        read
    }
}
