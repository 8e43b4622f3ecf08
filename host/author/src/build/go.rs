//! Go: a library for WASI preview 1.

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
    // Somebody's workspace or flags would make another module of the same sources.
    go.current_dir(&project.directory)
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm")
        .env("GOFLAGS", "")
        .env("GOWORK", "off");
    // A shared library: what Go calls a module that is called, and not run. The tag picks the world's exports in the SDK.
    let tag = format!("plumbline_{}", project.world().replace('-', "_"));
    go.args(["build", "-buildmode=c-shared", "-trimpath", "-tags", &tag, "-ldflags=-s -w", "-o"]).arg(&core).arg(".");
    run(&mut go, say, "Go 1.24 or later builds modules; `GOOS=wasip1 GOARCH=wasm go vet ./...` may say more")?;
    Ok(core)
}
