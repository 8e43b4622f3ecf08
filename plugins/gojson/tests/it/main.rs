//! Tests of the whole module.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod broken;
mod events;
mod go;
mod memory;
mod packages;
