//! Tests of the module `systemd-logs` with the SDK's harness.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bounds;
mod trees;
