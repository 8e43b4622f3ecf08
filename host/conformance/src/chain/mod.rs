//! What options of a command line become in the chain `verdict` of a definition.
//!
//! [`Chain`] is what was asked for: lists, a baseline, checks. [`Chain::apply`] appends it to the chain that a definition has, as entries for
//! the built-in judges, and puts the files that they read into its `config-map`.

mod apply;
mod baseline;
mod error;
mod evidence;
mod list;

pub use apply::Chain;
pub use baseline::{Baseline, MAX_FAILURES};
pub use error::ChainError;
pub use list::{ListFile, MAX_FILE_BYTES};
