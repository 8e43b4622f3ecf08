//! Damaged inputs: does a module stand what no tool writes?
//!
//! Each input is one of the golden cases with one file damaged: cut off, bits flipped, pieces repeated or left out, lines without end,
//! nesting without end, bytes that mean nothing. A module may refuse it, or say of its items that they are unknown. It may not trap, break
//! a rule of the contract, or run into a limit. The same seed gives the same inputs.

mod damage;
mod error;
mod input;
mod keep;
mod random;
mod run;
mod seeds;

pub use error::FuzzError;
pub use run::{Finding, FuzzOptions, FuzzReport, run};
