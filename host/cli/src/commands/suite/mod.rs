//! The plugin e2e in a run: what options make of it, and what is looked at before anything is created.

mod choice;
mod image;
mod latest;
mod lists;
mod look;
mod rerun;
mod retry;
mod settle;

pub(crate) use choice::{DEFAULT_PLUGINS, any, not_here};
pub(crate) use latest::{LATEST, latest};
pub(crate) use look::look;
pub(crate) use retry::retry;
pub(crate) use settle::{settle, ssh_key};
