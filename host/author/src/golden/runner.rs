//! The settings of a test run.

use std::time::Duration;

use plumbline_aggregator::{LimitPolicy, Modules};

/// The default timeout of one call of a module.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// The settings of a test run.
pub struct Runner<'a> {
    /// The built-in modules, and the sandbox. Modules of bundles are read only once, so a rebuilt
    /// project needs a new value.
    pub modules: &'a Modules,
    /// The limits of modules.
    pub limits: &'a LimitPolicy,
    /// The timeout of one call of a module, if its limits do not set a lower one.
    pub timeout: Duration,
    /// Which outputs become expectations.
    pub bless: Bless,
    /// Called with the name of a case that has been running for two seconds.
    pub slow: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Runner<'a> {
    /// Creates a runner with the default timeout that blesses nothing.
    pub fn new(modules: &'a Modules, limits: &'a LimitPolicy) -> Self {
        Self { modules, limits, timeout: DEFAULT_TIMEOUT, bless: Bless::Nothing, slow: &|_| {} }
    }
}

/// Which outputs are written to `expected.yaml`. Outputs of crashes and exceeded limits are never
/// written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bless {
    /// No output.
    Nothing,
    /// Outputs without an error.
    Results,
    /// Also outputs in which a module returned an error, such as a caught exception.
    Errors,
}
