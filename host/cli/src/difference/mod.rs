//! Compares two runs.

mod compare;
mod tests_of;

pub(crate) use compare::{Change, Difference, compare};
pub(crate) use tests_of::{Tests, add};
