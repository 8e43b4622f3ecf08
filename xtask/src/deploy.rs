//! `cargo xtask deploy`: writes what is generated below `deploy/`.

use crate::error::Error;
use crate::paths::Workspace;
use crate::process;

/// The test that knows the files, and compares them where it is not told to write them.
const TEST: &str = "deploy::generated::";

/// Writes them anew from what `gen` prints.
pub(crate) fn write(workspace: &Workspace) -> Result<(), Error> {
    let mut cargo = process::cargo_locked(workspace.root(), "test");
    cargo.args(["--quiet", "-p", "plumbline", "--test", "it", TEST]).env("PLUMBLINE_DEPLOY", "write");
    process::run_talkative(&mut cargo)
}
