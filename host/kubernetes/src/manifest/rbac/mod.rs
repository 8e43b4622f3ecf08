//! The permissions of a run's service accounts: that of the aggregator and those of plugins.

mod roles;
mod rules;
mod why;

pub(super) use roles::{aggregator_roles, plugin_accounts, plugin_roles};
pub use rules::{EVENTS, Needs, Queries, rules};
pub use why::{notices, why};
