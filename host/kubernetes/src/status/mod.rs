//! The status of a run in a cluster. The aggregator writes it on its own pod, and clients read it.
//!
//! ```text
//! publish ─▶ annotation on the aggregator's pod ──▶ read, watch       what fits (core::compact)
//!        ├─▶ ConfigMap, compressed ───────────────▶ full              everything, when it does not fit
//!        └─▶ annotation on each plugin's pod (worker_pods)            what its worker was heard of last
//! ```

mod error;
mod full;
mod publish;
mod read;
mod seen;
mod watch;
mod worker_pods;

pub use error::StatusError;
pub use full::{MAX_FULL_BYTES, full};
pub use publish::{LIMIT_BYTES, Pace, PublishOptions, publish, publish_delay, publish_last, publish_preparing};
pub use read::read;
pub use seen::{STALE, Seen, Waiting};
pub use watch::{Look, StatusWatch, watch};
pub use worker_pods::WorkerPods;
