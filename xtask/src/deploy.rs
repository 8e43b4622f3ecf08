//! `cargo xtask deploy`: writes the generated files below `deploy/`.

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;

/// The test that generates the files. It compares them by default, and writes them on request.
const TEST: &str = "deploy::generated::";

/// Writes the files again from the output of `gen`.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "test");
    cargo.args(["--quiet", "-p", "plumbline", "--test", "it", TEST]).env("PLUMBLINE_DEPLOY", "write");
    process::run_with_output(&mut cargo)
}
