//! Projects from their beginning to their module, with the real tools where they are there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod check;
mod create;
mod every_project;
mod own_build;
mod support;
