//! Tests that run core modules as components in the real sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod adapter;
mod describe;
mod refuse;
mod support;
