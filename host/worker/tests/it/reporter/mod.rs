//! The reporter over the double of an API server, its state machine under every order of events, and its manifests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod bed;
mod beside;
mod endings;
mod faults;
mod machine;
mod manifests;
mod orders;
mod results;
