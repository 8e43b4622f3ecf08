//! The worker's end of the protocol: HTTP/1.1 over mutual TLS, one connection for each request.
//!
//! Requests are rare (a progress update now and then, a heartbeat twice a minute, one result), so a connection is not kept between
//! them: the aggregator of 5,000 nodes does not have to hold 10,000 idle ones, and a stale one is never met. Sessions are
//! resumed, so that a new connection costs no signature.

mod body;
mod config;
mod connect;
mod error;
mod exchange;
mod phone;
mod retry;
mod transfer;
mod upload;

pub use config::{ClientConfig, Timeouts};
pub use error::{ClientError, Stage, TlsFailure};
pub use exchange::MAX_ANSWER_BYTES;
pub use phone::Client;
pub use retry::{MAX_RETRY_AFTER, RetryPolicy};
pub use upload::{Answer, Outcome, Source, Upload};
