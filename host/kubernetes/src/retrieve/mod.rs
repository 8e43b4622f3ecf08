//! Downloads an archive from the aggregator's pod.
//!
//! A connection through the API server can drop. The received bytes are kept, and the next
//! connection resumes from there. The whole archive is verified before it gets its final name.

mod aggregator;
mod bridge;
mod download;
mod error;
mod fallback;
mod options;
mod part;
mod readiness;
mod remote;
mod retrieval;
mod snapshot;

pub use error::{RetrieveError, Stage};
pub use options::{Progress, Retries, RetrieveOptions, Retrieved, Wait};
pub use readiness::NotReady;
pub use retrieval::retrieve;
pub use snapshot::retrieve_snapshot;
