//! The dispatcher that uses the API server.

mod advice;
mod cleanup;
mod create;
mod kubernetes;
mod options;

pub use kubernetes::KubernetesDispatcher;
pub use options::{KubernetesOptions, Survey};
