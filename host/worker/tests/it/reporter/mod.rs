//! The reporter with an API double, its state machine under all orders of events, and its
//! manifests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod details;
mod endings;
mod faults;
mod machine;
mod manifests;
mod orders;
mod results;
