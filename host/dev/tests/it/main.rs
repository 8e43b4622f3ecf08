//! Tests of the server with the real client.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod deleting;
mod discovery;
mod exec;
mod faults;
mod harness;
mod listing;
mod logs;
mod watching;
mod writing;
