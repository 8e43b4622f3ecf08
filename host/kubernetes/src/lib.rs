//! Plumbline on Kubernetes: a dispatcher over the API server, and what a person needs of a run in a cluster.
//!
//! ```text
//! person   plumbline run ── manifest ──▶ API server ──▶ aggregator pod ── Dispatcher ──▶ pods and DaemonSets of plugins
//!          plumbline status ◀─ annotation ─────────────── status           monitor ◀──── watch of pods, nodes, events
//!          plumbline retrieve ◀─ exec, in ranges ──────── archive          query ──────▶ resources, logs, health
//! ```
//!
//! What depends on objects only is written as plain functions over them and tested as such; talking to the server stands at the edge.
#![forbid(unsafe_code)]

mod cluster;
mod error;
pub mod logs;
pub mod monitor;
pub mod names;
pub mod query;

pub use cluster::{Cluster, ConnectOptions, ServerVersion};
pub use error::ClusterError;
