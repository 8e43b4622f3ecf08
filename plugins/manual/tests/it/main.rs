//! The module as a whole.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod bounds;
mod golden;
mod shapes;
