//! What judges decide about a finished tree: which items count, and which checks pass.

mod document;
mod judging;

pub use document::{
    Check, CheckOutcome, ClassCount, JudgeRecord, JudgedCheck, PluginVerdict, RuledItem, Ruling, VERDICT_VERSION,
    VerdictStatus,
};
pub use judging::{
    Judging, Leaf, MAX_ITEMS, MAX_SUMMARY_CLASSES, NO_RULING, OTHER_CLASSES, UNRULED_CLASS, VerdictSummary,
};
