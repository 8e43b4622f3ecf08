//! Tests of the generated files, and of the frozen contract.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like the tests themselves")]

mod compatible;
mod drift;
mod native;
mod page;
mod schema;

use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
