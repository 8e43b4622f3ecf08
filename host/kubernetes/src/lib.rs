//! Runs Plumbline on Kubernetes: a dispatcher that uses the API server, and the client side of a
//! run in a cluster.
//!
//! ```text
//! person   plumbline run ── manifest ──▶ API server ──▶ aggregator pod ── Dispatcher ──▶ pods and DaemonSets of plugins
//!          plumbline status ◀─ annotation ─────────────── status           monitor ◀──── watch of pods, nodes, events
//!          plumbline retrieve ◀─ exec, in ranges ──────── archive          query ──────▶ resources, logs, health
//! ```
//!
//! [`Cluster`] is the connection to the API server, [`manifest`] builds the objects of a run, and
//! [`KubernetesDispatcher`] starts plugins as pods and DaemonSets.
//!
//! Logic that depends only on objects is in plain functions, which are tested without a server.
//! Only the outermost code sends requests.
#![forbid(unsafe_code)]

mod aggregator_pod;
pub mod chunks;
mod cluster;
mod companions;
mod create;
pub mod delete;
pub mod dispatcher;
pub mod driver;
mod error;
mod events;
mod exec;
pub mod inside;
mod log_copy;
pub mod logs;
pub mod manifest;
#[cfg(test)]
mod messages;
pub mod monitor;
pub mod names;
mod nodes;
mod object_text;
mod owned;
mod parts;
mod pod_view;
pub mod preflight;
pub mod query;
pub mod retrieve;
mod retry;
mod run_events;
pub mod schedule;
pub mod status;
mod timeline;
mod traffic;
mod vault;
mod watch;

pub use aggregator_pod::own_pod_uid;
pub use cluster::{Cluster, ConnectOptions, ServerVersion, contexts, has_configuration};
pub use companions::companions_ended;
pub use create::{Change, create, create_within, plan_creation, title};
pub use dispatcher::KubernetesDispatcher;
pub use error::ClusterError;
pub use nodes::{NodeList, list_nodes};
pub use pod_view::plugin_pods;
pub use retry::{Refusal, ask_within, retry_while};
pub use run_events::RunEvents;
pub use vault::CaSecretStore;
