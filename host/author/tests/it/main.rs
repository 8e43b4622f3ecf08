//! What an author works with: projects from their beginning to their module, and from there to their cases, with the real tools where they are
//! there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod cases;
mod check;
mod create;
mod examples;
mod fuzz;
mod golden;
mod golden_judges;
mod inspect;
mod judges;
mod own_build;
mod scripting;
mod support;
mod watch;
