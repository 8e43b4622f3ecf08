//! Projects from their beginning to their module, with the real tools where they are there; golden cases, damaged inputs, watching.
//! What an author works with, on projects of their own, with the real tools where they are there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod check;
mod create;
mod every_project;
mod fuzz;
mod golden;
mod inspect;
mod own_build;
mod support;
mod watch;
