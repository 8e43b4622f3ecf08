//! Plumbline's artifacts: bundles, and single WebAssembly files in the format of other tools.

mod pull;
mod push;

pub use pull::{Kind, Pulled, pull, unwrap_entry};
pub use push::{BundleConfig, BundleModule, Component, ModuleFields, Pushed, push_bundle, push_module};
