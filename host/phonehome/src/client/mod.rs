//! The worker's side of the protocol: HTTP/1.1 over mutual TLS, with one connection per request.
//!
//! Requests are rare: occasional progress updates, two heartbeats per minute, and one result.
//! Connections are therefore not kept alive. The aggregator of 5,000 nodes need not hold 10,000
//! idle ones, and clients never encounter a stale one. TLS sessions are resumed, so a new
//! connection needs no signature.

mod body;
mod config;
mod connection;
mod error;
mod requests;
mod retry;

pub use config::{Answer, ClientConfig, Outcome, Source, Timeouts, Upload};
pub use connection::MAX_ANSWER_BYTES;
pub use error::{ClientError, Stage, TlsFailure};
pub use requests::Client;
pub use retry::{MAX_RETRY_AFTER, RetryPolicy};
