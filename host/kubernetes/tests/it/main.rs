//! Over the double of an API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod delete;
mod dispatch;
mod manifest;
mod retrieve;
mod status;
mod logs;
mod query;
mod query_bed;
mod query_podlogs;
