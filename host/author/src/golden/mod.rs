//! Golden cases: results, and the tree that they must become; a tree, and the verdict that judges must come to.
//!
//! A project keeps them below `tests/`, one directory each, laid out as in an archive (`results/`, `errors/`), with the tree that
//! `plumbline plugin process` prints in `expected.yaml`. Each runs through the aggregator's own post-processing with the modules beside the
//! definition, so that what passes here means the same in a run. A case of an expectations module has `nodes.yaml` in place of results, one of judges
//! `tree.yaml`.

mod actual;
mod case;
mod compare;
mod error;
mod judgement;
mod nodes;
mod output;
mod project;
mod report;
mod run;
mod runner;

pub use case::{Case, CaseKind, TESTS_DIR, find};
pub use compare::{Diff, DiffLine};
pub use error::GoldenError;
pub use project::Project;
pub use report::{CaseReport, CaseResult, Report};
pub use run::run;
pub use runner::Runner;
pub use runner::{Bless, DEFAULT_TIMEOUT};

pub(crate) use actual::planned;
pub(crate) use case::{DEFINITION, FINDINGS_DIR, OPTIONS};
