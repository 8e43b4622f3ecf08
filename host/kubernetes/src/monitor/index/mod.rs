//! Tracks the problems of expected results, how long they last, and which exceed their grace
//! period. Synchronous, without I/O or a clock.

mod cluster;
mod judge;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod tracked;

pub(super) use judge::Index;
pub(super) use tracked::{Now, Verdict};
