//! Options that say what becomes of failures, as chains of judges.

mod chain;

pub(crate) use chain::{apply, chain, judged_plugin, not_with, rehearse_alone};
