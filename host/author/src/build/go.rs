//! The build of Go modules: a library for WASI preview 1.

use std::path::PathBuf;
use std::process::Command;

use super::artifact;
use super::step::{Say, run};
use super::tool::GO;
use crate::project::{AuthorError, Project};

pub(super) fn build(project: &Project, say: Say<'_>) -> Result<PathBuf, AuthorError> {
    let core = project.build_directory().join(format!("{}.core.wasm", project.name()));
    artifact::clear(&core)?;
    let mut go = Command::new(GO.find(&project.directory)?);
    // The user's workspace or flags could build a different module from the same sources.
    go.current_dir(&project.directory)
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .env("GOFLAGS", "")
        .env("GOWORK", "off");
    // Build a shared library, which is Go's term for a module without a `main` to run. The tag
    // selects the exports of the world in the SDK.
    let tag = format!("plumbline_{}", project.world().replace('-', "_"));
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-tags", &tag, "-ldflags=-s -w", "-o"]).arg(&core).arg(".");
    run(&mut go, say, "Go 1.24 or later builds modules; `GOOS=wasip1 GOARCH=wasm go vet ./...` may say more")?;
    Ok(core)
}
