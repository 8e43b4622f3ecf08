//! A Kubernetes API server in memory, on loopback, for tests: objects, watches, logs, exec, and
//! injected faults.
//!
//! It uses plain HTTP and behaves like a real server wherever a client can see a difference. That
//! includes `Status` objects with reasons, resource versions, pagination, expiring watches,
//! validation of names, labels and sizes, and finalizers. An end-to-end test compares its answers with
//! those of a real server. It has no controllers: tests take their part with [`ApiDouble::put`] and
//! [`ApiDouble::update`]. Unlike a real server, it creates objects in namespaces that do not exist.
//!
//! ```
//! # async fn example() -> std::io::Result<()> {
//! use plumbline_dev::ApiDouble;
//! use serde_json::json;
//!
//! let double = ApiDouble::start().await?;
//! double.put("nodes", json!({"metadata": {"name": "n1"}}));
//! // A client made from `double.kubeconfig()` now sees one node.
//! assert_eq!(double.list("nodes").len(), 1);
//! # Ok(())
//! # }
//! ```

pub(crate) mod access;
mod answer;
mod deletion;
mod discovery;
mod double;
mod exec;
mod faults;
mod json;
mod logs;
mod objects;
mod patch;
mod read;
pub(crate) mod request;
mod resources;
mod route;
pub mod schema;
mod selector;
mod server;
mod state;
mod store;
mod validate;
mod watch;
mod write;

pub use double::ApiDouble;
#[cfg(feature = "program")]
pub(crate) use double::kubeconfig;
pub use faults::{Fault, FaultKind};
pub use state::{ExecReply, ExecRequest, Recorded};
