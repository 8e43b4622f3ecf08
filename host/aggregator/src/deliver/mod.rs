//! Uploads a finished archive to S3-compatible storage (`s3://BUCKET/PREFIX`), or to an HTTP server
//! with `PUT`.
//!
//! ```no_run
//! use plumbline_aggregator::deliver::{Archive, Destination};
//!
//! # async fn send() -> Result<(), plumbline_aggregator::deliver::DeliverError> {
//! let destination = Destination::parse("s3://audits/nightly/", &std::env::vars().collect())?;
//! let archive = Archive { path: "/tmp/run.tar.gz".into(), name: "run.tar.gz".into(), bytes: 4711, sha256: "…".into() };
//! let address = destination.deliver(&archive).await?;
//! # drop(address); Ok(())
//! # }
//! ```

mod again;
mod archive;
mod destination;
mod error;
mod put;
mod s3;

pub use archive::Archive;
pub use destination::Destination;
pub use error::DeliverError;
