//! What cases run in.

use std::time::Duration;

use plumbline_aggregator::{LimitPolicy, Modules};

/// The settings of a test run.
pub struct Runner<'a> {
    /// The built-in modules, and the sandbox. Modules of bundles are read once, so a project that was rebuilt needs new
    /// ones.
    pub modules: &'a Modules,
    /// What modules may use.
    pub limits: &'a LimitPolicy,
    /// The time that one call of a module may take, if its limits do not allow less.
    pub timeout: Duration,
    /// Which outcomes become expectations.
    pub bless: Bless,
    /// Called with the name of a case that has been running for two seconds.
    pub slow: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Runner<'a> {
    /// A runner with the default timeout that blesses nothing.
    #[must_use]
    pub fn new(modules: &'a Modules, limits: &'a LimitPolicy) -> Self {
        Self { modules, limits, timeout: DEFAULT_TIMEOUT, bless: Bless::Nothing, slow: &|_| {} }
    }
}

/// The time that a call of a module in a case may take, unless the author sets another.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Which outcomes are written to `expected.yaml`. Crashes and exceeded limits never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bless {
    /// None.
    Nothing,
    /// Those without an error.
    Results,
    /// Also those in which a module returned an error, such as a caught exception.
    Errors,
}
