//! The way of an archive from the aggregator's pod to a file.
//!
//! The connection through the API server drops now and then, and more often the longer it lasts. So an archive is asked for in pieces,
//! each by a command of its own; what arrived is kept; and the whole is verified before it gets its name.

mod aggregator;
mod bridge;
mod download;
mod error;
mod fallback;
mod options;
mod part;
mod piece;
mod readiness;
mod remote;
mod retrieval;
mod snapshot;

pub use error::{RetrieveError, Stage};
pub use options::{Progress, Retries, RetrieveOptions, Retrieved, Wait};
pub use readiness::NotReady;
pub use retrieval::retrieve;
pub use snapshot::retrieve_snapshot;
