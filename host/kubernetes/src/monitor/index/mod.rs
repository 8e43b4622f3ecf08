//! Which expected results are in which trouble, since when, and which of them have been for too long. Synchronous, without I/O or a clock.

mod cluster;
mod judge;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod tracked;

pub(super) use judge::Index;
pub(super) use tracked::{Now, Verdict};
