//! A run in a simulated cluster. The API server is a test double. The aggregator is the real
//! program, with the role, files and variables of its pod.
//!
//! ```text
//! plumbline aggregator ◀── mutual TLS ── workers: hello, heartbeat, result           node
//!        │ HTTP                              ▲ certificate from the Secret, as in the pod's environment
//!        ▼                                   │
//!    API double ◀── objects, status ── DaemonSet controller, scheduler, kubelets     controller, node, objects
//! ```
//!
//! These parts are real: the program, its requests and watches, the uploads and their TLS.
//! Everything behind the API server is simulated. The controller, the kubelets and the workers run
//! in the process of the caller, so that the resource usage of the aggregator can be measured
//! separately.

mod chaos;
mod controller;
mod node;
mod objects;
mod run;
mod traffic;

pub(crate) use objects::{aggregator_pod, node, node_name};
pub use run::{Outcome, Simulation};
pub use traffic::Traffic;
pub(crate) use traffic::kind_of;
