//! From a finished tree to a verdict: each judge of a chain reads the tree, and the host applies
//! the rules (docs/judging.md).

mod chain;
mod evidence;
mod kept;
mod plan;
mod said;

pub use chain::{JudgeError, Judged, judge_measured, judge_plugin};
pub use evidence::{MAX_EVIDENCE_FILES, evidence_patterns};
pub use kept::{keep_tree, result_sets};
pub use plan::{PlannedJudge, plan_judges};

pub(crate) use kept::ItemWriter;
