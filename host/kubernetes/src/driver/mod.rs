//! Drivers turn a definition into the objects that execute it in a cluster (docs/protocol.md, "In a
//! cluster").
//!
//! All functions are pure. Objects are untyped JSON, because every field of a user's pod spec must
//! reach the API server, including fields that this build does not know.

mod account;
mod defaults;
mod error;
mod lists;
mod naming;
mod pod_spec;
mod progress_port;
mod reconcile;
mod secret;
mod security;
mod stage;
mod worker;
mod workload;

pub use account::{PluginAccount, reserved_secret};
pub(crate) use defaults::set_job_tolerations;
pub use defaults::{default_pod_spec, default_tolerations};
pub use error::DriverError;
pub use naming::{DEFAULT_CONTAINER, SKIP_CLEANUP_ANNOTATION, container_name, labels, workload_name};
pub use pod_spec::SIDECAR_GRACE_SECONDS;
pub use progress_port::progress_ports;
pub use secret::secret;
pub use stage::{Owner, Stage, WorkerSecurity};
pub use workload::{Workload, daemon_set, pod, workload};
