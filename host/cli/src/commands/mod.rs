//! The commands, each with its arguments. [`crate::args::Command`] lists and runs them.

pub(crate) mod cache;
mod cluster;
pub(crate) mod completion;
pub(crate) mod conformance;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod generate;
pub(crate) mod history;
pub(crate) mod images;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod node;
pub(crate) mod plugin;
mod profiles;
pub(crate) mod query;
pub(crate) mod results;
mod results_attest;
pub(crate) mod retrieve;
pub(crate) mod roles;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod submission;
pub(crate) mod suite;
pub(crate) mod version;
pub(crate) mod wait;
pub(crate) mod worker;
