//! `plumbline test-plugin`: a plugin that does what it is told.

mod adapter;
mod attack;
mod deliver;
mod e2e;
mod memory;
mod progress;
mod report;
mod run;

pub(crate) use run::test_plugin;
