//! The logs of machines: their `journalctl`, and what is wrong with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod through;
