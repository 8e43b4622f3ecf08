//! The permissions of a run's service accounts: that of the aggregator and those of plugins.

mod needs;
mod objects;
mod plugins;
mod rules;
mod why;

pub use needs::{Needs, Queries};
pub use rules::rules;
pub use why::{notices, why};

pub(super) use objects::objects;
pub(super) use plugins::{plugin_accounts, plugin_roles};
