//! Downloads an archive from the aggregator's pod.
//!
//! A connection through the API server can drop. The received bytes are kept, and the next
//! connection resumes from there. The whole archive is verified before it gets its final name.

mod download;
mod error;
mod options;
mod part;
mod readiness;
mod retrieval;
mod stream;

pub use error::{NotReady, RetrieveError, Stage};
pub use options::{Progress, Retries, RetrieveOptions, Retrieved, Wait};
pub use retrieval::{retrieve, retrieve_snapshot};
