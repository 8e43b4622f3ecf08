//! Tests with an API double.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod delete;
mod dispatch;
mod logs;
mod manifest;
mod monitor;
mod object_reader;
mod pod_security;
mod query;
mod query_bed;
mod query_podlogs;
mod retrieve;
mod status;
mod vault;
