//! Plugins with a chosen outcome, for tests of clusters and of Plumbline itself.
//!
//! [`run`] delivers results, [`attack()`] attacks the run, and [`simulate_suite`] replaces the
//! image of the conformance suite. Each returns its exit code.

mod attack;
mod common;
mod deliver;
mod formats;
mod suite;

pub(crate) use attack::{AttackOptions, attack};
pub(crate) use common::say;
pub(crate) use deliver::{PluginOptions, run};
pub(crate) use suite::{SuiteOptions, simulate_suite};
