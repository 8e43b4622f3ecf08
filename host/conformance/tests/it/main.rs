#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
//! Tests of the crate from outside.

mod chain;
mod go_regex;
mod go_regex_differential;
mod lists;
