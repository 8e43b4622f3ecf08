//! From a finished tree to a verdict: each judge of a chain reads the tree, and the host applies
//! the rules (docs/judges.md).

mod chain;
mod items;
mod plan;

pub use chain::{JudgeError, Judged, judge_plugin};
pub(crate) use items::{ItemOwner, ItemWriter};
pub use items::{keep_tree, result_sets};
pub use plan::{MAX_EVIDENCE_FILES, PlannedJudge, evidence_patterns, plan_judges};
