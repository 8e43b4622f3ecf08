//! The protocol between a worker, which waits next to a plugin, and the aggregator of a run, which
//! collects results.
//!
//! A worker uses a [`Client`]. An aggregator uses [`RunCa`], [`server_config`], [`Route`] and
//! [`disposition_file_name`]. The crate is self-contained: other projects can build their own
//! worker with it and need nothing else of Plumbline. docs/protocol.md describes the protocol for
//! workers in any language.
//!
//! ```no_run
//! use plumbline_phonehome::{Client, ClientConfig, ResultKey, RetryPolicy, Source, Upload};
//!
//! # async fn send() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(&ClientConfig {
//!     aggregator_url: std::env::var("AGGREGATOR_URL")?,
//!     ca_cert: std::env::var("CA_CERT")?,
//!     client_cert: std::env::var("CLIENT_CERT")?,
//!     client_key: std::env::var("CLIENT_KEY")?,
//! })?;
//! let key = ResultKey::global(std::env::var("RESULT_TYPE")?.parse()?);
//! let file = Source::File("/tmp/sonobuoy/results/report.xml".into());
//! let upload = Upload::result(file, "text/xml; charset=utf-8", Some("report.xml".to_owned()));
//! client.put_result(&key, &upload, &RetryPolicy::default()).await?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod ca;
mod client;
mod file_name;
mod messages;
mod percent;
mod routes;
mod tls;
mod verifier;

pub use bytes::Bytes;
pub use http::{Method, StatusCode};
pub use jiff::Timestamp;
pub use plumbline_core::{GLOBAL, NameError, NodeName, PluginName, ResultKey, RunId};

pub use ca::{CLOCK_SKEW, CaError, Issued, RunCa, VALIDITY_MARGIN, VALIDITY_WITHOUT_TIMEOUT};
pub use client::{
    Answer, Client, ClientConfig, ClientError, MAX_ANSWER_BYTES, MAX_RETRY_AFTER, Outcome, RetryPolicy, Source, Stage,
    Timeouts, TlsFailure, Upload,
};
pub use file_name::{FileNameError, MAX_FILE_NAME_BYTES, SafeFileName, content_disposition, disposition_file_name};
pub use messages::{
    CONTENT_TYPE_ARCHIVE, CONTENT_TYPE_JSON, HEADER_ERROR, Heartbeat, HeartbeatAnswer, Hello, MAX_HEARTBEAT_BYTES,
    MessageError, Phase, is_archive,
};
pub use routes::{MAX_PATH_BYTES, Route, RouteError, RouteKind};
pub use tls::{
    PeerIdentity, PeerIdentityError, TlsConfigError, certificate_expiry, certificate_start, client_config,
    server_config,
};
