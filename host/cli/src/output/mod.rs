//! The outcome of a run on the terminal.

mod foreign;
mod last_output;
pub(crate) mod outcome;

pub(crate) use foreign::Foreign;
