//! Integration tests: directories, trusted and malicious tars, installations, lock files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod cache;
mod hostile;
mod lock;
mod make;
mod pack;
mod profile;
mod properties;
mod signing;
mod store;
