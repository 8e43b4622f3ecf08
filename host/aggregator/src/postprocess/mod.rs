//! From the files of a plugin to its result tree. A module reads each result set in the sandbox.
//! The host rolls up the statuses and writes the tree.

mod detect;
mod error;
mod errors;
mod failure;
mod fault;
mod inputs;
mod item;
mod keep;
mod leaf_counts;
mod lean;
mod leaves;
mod outcome;
mod process;
mod reason;
mod replay;
mod select;
mod sink;
mod spool;
mod summary;
mod usage;
mod yaml;

pub use detect::{Detected, Detections};
pub use error::PostProcessError;
pub use errors::EXIT_FILE;
pub(crate) use errors::EXIT_SUCCESS;
pub use failure::{Failure, MAX_FAILURES};
pub use inputs::{ModuleInput, module_inputs};
pub use outcome::{NodeOutcome, Outcome, Subject};
pub use process::post_process;
pub use usage::Usage;

pub(crate) use fault::is_of_data;
pub use lean::{LeanLimits, LeanTree, read_lean};
pub(crate) use leaves::leaves;
pub use plumbline_archive::layout::{ERROR_FILE, TREE_FILE};
pub(crate) use sink::RunLog;
