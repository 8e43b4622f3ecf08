//! Logs of machines, read with `journalctl`, and its failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod through;
