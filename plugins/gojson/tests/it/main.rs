//! The module as a whole.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod broken;
mod events;
mod go;
mod memory;
