//! What judges decide about a finished tree: which items count, and which checks pass.

mod document;
mod judging;
mod ruling;
mod summary;

pub use document::{ClassCount, JudgeRecord, JudgedCheck, PluginVerdict, RuledItem, VERDICT_VERSION, VerdictStatus};
pub use judging::{Judging, Leaf, MAX_ITEMS, NO_RULING, OTHER_CLASSES, UNRULED_CLASS};
pub use ruling::{Check, CheckOutcome, Ruling};
pub use summary::{MAX_SUMMARY_CLASSES, VerdictSummary};
