//! Golden cases: results with the expected tree, or a tree with the expected verdict.
//!
//! A project keeps its cases below `tests/`, one directory each. A case has the layout of an
//! archive (`results/`, `errors/`), and `expected.yaml` holds the tree that `plumbline plugin
//! process` prints. A case of an expectations module has `nodes.yaml` instead of results, and one
//! of judges has `tree.yaml`. One of a check has its input (`CHECK_INPUT`).
//!
//! Each case runs through the aggregator's own post-processing with the modules next to the
//! definition. A case that passes therefore behaves the same in a run.

mod actual;
mod case;
mod checked;
mod recorded;
mod recorded_network;
mod report;
mod run;

pub(crate) use case::{CHECK_INPUT, DEFINITION, FINDINGS_DIR, OPTIONS, TESTS_DIR};
pub use case::{Case, CaseKind, Project, find};
pub(crate) use checked::input_problem;
pub use report::{CaseReport, CaseResult, Diff, DiffLine, Report};
pub(crate) use run::planned;
pub use run::{Bless, DEFAULT_TIMEOUT, Runner, run};
