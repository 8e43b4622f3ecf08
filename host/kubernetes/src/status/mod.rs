//! The status of a run in a cluster. The aggregator writes it on its own pod, and clients read it.
//!
//! ```text
//! publish ─▶ annotation on the aggregator's pod ──▶ read, watch       what fits (core::compact)
//!        ├─▶ ConfigMap, compressed ───────────────▶ full              everything, when it does not fit
//!        └─▶ annotation on each plugin's pod                          what its worker was heard of last
//! ```

mod complaints;
mod error;
mod full;
mod options;
mod pace;
mod pod;
mod publish;
mod read;
mod seen;
mod waiting;
mod watch;
mod words;
mod worker_pods;
mod workers;

pub use error::StatusError;
pub use full::{MAX_FULL_BYTES, full};
pub use options::PublishOptions;
pub use pace::Pace;
pub use publish::{LIMIT_BYTES, publish, publish_last, publish_preparing};
pub use read::read;
pub use seen::{STALE, Seen};
pub use waiting::Waiting;
pub use watch::{Look, StatusWatch, watch};
pub use worker_pods::WorkerPods;
