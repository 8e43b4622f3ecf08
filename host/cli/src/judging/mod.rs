//! Options that say what becomes of failures, as chains of judges.

mod chain;
mod rehearse;
mod wire;

pub(crate) use chain::{chain, judged_plugin};
pub(crate) use rehearse::rehearse_alone;
pub(crate) use wire::{apply, not_with};
