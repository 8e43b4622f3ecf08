//! What an author works with, on projects of their own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod fuzz;
mod golden;
mod inspect;
mod watch;
