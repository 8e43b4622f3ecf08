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

mod aggregator_pod;
mod ask;
mod cluster;
mod companions;
mod create;
pub mod delete;
pub mod dispatcher;
pub mod driver;
mod error;
pub mod exec;
pub mod inside;
mod insist;
pub mod logs;
pub mod manifest;
pub mod monitor;
pub mod names;
mod node_view;
mod nodes;
mod own_pod;
mod pod_view;
mod pods;
pub mod preflight;
pub mod query;
mod reasons;
pub mod retrieve;
pub mod status;
mod vault;
mod watch;

pub use ask::{Refusal, ask};
pub use cluster::{Cluster, ConnectOptions, ServerVersion};
pub use companions::companions_ended;
pub use create::{Change, create, plan_creation, title};
pub use dispatcher::{KubernetesDispatcher, KubernetesOptions};
pub use error::ClusterError;
pub use nodes::{NodeList, list_nodes};
pub use own_pod::own_pod_uid;
pub use pods::plugin_pods;
pub use vault::SecretVault;
