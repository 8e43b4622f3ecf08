//! Prints the outcome of a run.

mod foreign;
mod last_output;
pub(crate) mod outcome;

pub(crate) use foreign::Foreign;
