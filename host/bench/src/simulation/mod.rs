//! A run in a cluster that is played: the API server is a double, the aggregator is the program itself, in the role and with the files and
//! variables that it has in its pod.
//!
//! ```text
//! plumbline aggregator ◀── mutual TLS ── workers: hello, heartbeat, result           node
//!        │ HTTP                              ▲ certificate from the Secret, as the pod's environment says
//!        ▼                                   │
//!    API double ◀── objects, status ── DaemonSet controller, scheduler, kubelets     controller, node, objects
//! ```
//!
//! What is real: the program, its requests and watches, the uploads and their TLS. What is played: everything behind the API server. Controller,
//! kubelets and workers live in the caller's process, so that what the aggregator uses can be told apart.

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
