//! Tests of the module, run natively.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod labelled;
mod quality;
mod stable;
mod summary;
