//! Integration tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod built_in;
mod chain;
mod go_regex;
mod lists;
mod submission;
mod verifier;
