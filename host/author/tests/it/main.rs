//! Tests of the tools for authors, from a new project to its module and its cases. Tests that need
//! the real tools run if they are installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod cases;
mod check;
mod create;
mod examples;
mod fuzz;
mod golden;
mod golden_checks;
mod golden_judges;
mod inspect;
mod judges;
mod own_build;
mod scripting;
mod support;
mod watch;
