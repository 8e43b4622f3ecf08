//! The host that a check assumes.

use plumbline_aggregator::LimitPolicy;
use plumbline_sandbox::{ModuleInfo, Sandbox};

/// The host that the plugin would run on.
pub struct Host<'a> {
    /// The sandbox that loads modules.
    pub sandbox: &'a Sandbox,
    /// The metadata of its built-in modules.
    pub built_in: Vec<&'a ModuleInfo>,
    /// Its limits.
    pub limits: &'a LimitPolicy,
}
