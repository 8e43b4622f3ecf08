//! Integration tests: directories, trusted and malicious tars, installations, lock files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod built_in_profiles;
mod cache;
#[path = "../../build/profiles.rs"]
mod declared;
mod hostile;
mod lock;
mod make;
mod pack;
mod profile;
mod properties;
mod signing;
mod store;
