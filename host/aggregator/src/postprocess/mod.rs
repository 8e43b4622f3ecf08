//! From the files of a plugin to its result tree. A module reads each result set in the sandbox.
//! The host rolls up the statuses and writes the tree.

mod calls;
mod detect;
mod failures;
mod files;
mod items;
mod outcome;
mod process;
mod replay;
mod spool;
mod tree_reader;
mod yaml;

pub use calls::RunLog;
pub use failures::{Failure, MAX_FAILURES};
pub(crate) use files::file_patterns;
pub use files::{ModuleInput, module_inputs};
pub use items::EXIT_FILE;
pub(crate) use items::{EXIT_CRASH, EXIT_NO_TESTS, EXIT_SUCCESS, EXIT_UNKNOWN};
pub(crate) use outcome::is_of_data;
pub use outcome::{Detected, Detections, NodeOutcome, Outcome, PostProcessError, Subject, Usage};
pub use plumbline_archive::layout::{ERROR_FILE, TREE_FILE};
pub use process::post_process;
pub(crate) use tree_reader::{LONG_NAME, Leaf, leaves, no_details, read_items_with};
pub use tree_reader::{LeanLimits, LeanTree, read_items, read_lean};
