//! Conversion of command-line options to the chain `verdict` of a definition.
//!
//! [`Chain`] holds the requested lists, baseline and checks. [`Chain::apply`] appends them to the
//! chain of a definition as entries for the built-in judges. It also adds their files to the
//! definition's `config-map`.

mod apply;
mod baseline;
mod error;
mod evidence;
mod list;

pub use apply::Chain;
pub use baseline::{Baseline, MAX_FAILURES};
pub use error::ChainError;
pub use list::{ListFile, MAX_FILE_BYTES};
