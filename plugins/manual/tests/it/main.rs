//! Tests of the whole module.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod bounds;
mod golden;
mod shapes;
