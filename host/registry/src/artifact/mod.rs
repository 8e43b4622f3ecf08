//! Artefacts of Plumbline: bundles, and single WebAssembly files as other tools write and read them.

mod pull;
mod push;

pub use pull::{Kind, Pulled, pull, unwrap_entry};
pub use push::{BundleConfig, BundleModule, Component, ModuleFields, Pushed, push_bundle, push_module};
