//! What a check runs in.

use plumbline_aggregator::LimitPolicy;
use plumbline_sandbox::{ModuleInfo, Sandbox};

/// The host that a plugin would run on.
pub struct Host<'a> {
    /// Where modules are loaded.
    pub sandbox: &'a Sandbox,
    /// What its built-in modules say of themselves.
    pub built_in: Vec<&'a ModuleInfo>,
    /// Its limits.
    pub limits: &'a LimitPolicy,
}
