//! The logs of machines: their files, their `journalctl`, and what is wrong with them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod broken;
mod journals;
mod through;
