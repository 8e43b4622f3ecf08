//! The plugin e2e in a run: what options make of it, and what is looked at before anything is created.

mod image;
mod latest;
mod lists;
mod look;
mod retry;
mod settle;

pub(crate) use latest::{LATEST, latest};
pub(crate) use look::look;
pub(crate) use retry::retry;
pub(crate) use settle::{DEFAULT_PLUGINS, any, not_here, settle, ssh_key};
