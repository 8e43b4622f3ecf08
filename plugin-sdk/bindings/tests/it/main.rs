//! What is generated, and what must not change.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like the tests themselves")]

mod compatible;
mod drift;
mod native;
mod page;
mod schema;

use std::path::{Path, PathBuf};

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
