//! A worker on a slow network.

use std::sync::Arc;
use std::time::Duration;

use plumbline_core::ResultKey;
use plumbline_phonehome::{ClientConfig, client_config};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Result;

/// Number of bytes that are sent ten times a second.
const PIECE: usize = 1_000;

/// Sends a result of `pieces` kilobytes at 10 kB/s.
///
/// # Errors
/// The connection breaks, or the aggregator does not accept the result.
pub async fn crawl(config: Arc<ClientConfig>, key: ResultKey, pieces: usize) -> Result<()> {
    let tls = client_config(&config.ca_cert, &config.client_cert, &config.client_key)?;
    let address = config.aggregator_url.trim_start_matches("https://").trim_end_matches('/').to_owned();
    let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host).to_owned();
    let stream = TcpStream::connect(&address).await?;
    let mut stream = TlsConnector::from(Arc::new(tls)).connect(ServerName::try_from(host)?, stream).await?;
    let head = format!(
        "PUT /api/v1/results/by-node/{}/{} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        key.node,
        key.plugin,
        PIECE * pieces
    );
    stream.write_all(head.as_bytes()).await?;
    let piece = [0; PIECE];
    for _ in 0..pieces {
        stream.write_all(&piece).await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    match answer.ends_with(b"200") {
        true => Ok(()),
        false => Err(format!("the slow client was answered {}", String::from_utf8_lossy(&answer)).into()),
    }
}
