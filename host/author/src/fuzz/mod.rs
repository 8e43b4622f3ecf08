//! Fuzzing: runs a module on damaged inputs.
//!
//! Each input is one of the golden cases with one damaged file. The file is truncated, has flipped
//! bits, repeated or missing pieces, endless lines, endless nesting or random bytes. A module may
//! reject an input, or mark items as `unknown`. It must not trap, break a rule of the contract, or
//! exceed a limit. The same seed gives the same inputs.

mod damage;
mod error;
mod input;
mod keep;
mod random;
mod run;
mod seeds;

pub use error::FuzzError;
pub use run::{Finding, FuzzOptions, FuzzReport, run};
