//! Drivers turn a definition into the objects that execute it in a cluster (docs/protocol.md, "In a
//! cluster").
//!
//! All functions are pure. Objects are untyped JSON, because every field of a user's pod spec must
//! reach the API server, including fields that this build does not know.

mod account;
mod check;
mod error;
mod pod_spec;
mod stage;
mod worker;
mod workload;

pub use account::{PluginAccount, reserved_secret};
pub use check::CheckPod;
pub(crate) use check::reads_files;
pub use error::DriverError;
pub use pod_spec::{default_pod_spec, progress_ports};
pub(crate) use pod_spec::{level_of, uses_host_network};
pub use stage::{Stage, WorkerSecurity};
pub(crate) use worker::URL_VARIABLE;
pub use worker::secret;
pub use workload::{SKIP_CLEANUP_ANNOTATION, workload};
