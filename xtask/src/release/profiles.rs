//! The bundles of the profiles in `examples/profiles`, which users run without this repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::VERSION;
use super::inputs::Program;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;
use crate::target_std::{self, Target};

/// Returns the name of the file with the bundle of a profile.
pub(super) fn name(profile: &str) -> String {
    format!("profile-{profile}-v{VERSION}.bundle.tar")
}

/// Returns the bundles of the profiles by their names.
pub(super) fn collect(workspace: &Workspace, program: &Program) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    bundles(workspace, program, &dirs(workspace)?)
}

/// Lets `program` build the module of the plugin in each directory, and pack the plugin. Returns the
/// bundles by the names of the directories.
pub(super) fn bundles(
    workspace: &Workspace,
    program: &Program,
    dirs: &[PathBuf],
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let std = target_std::ensure(Target::MODULE)?;
    let scratch = workspace.target().join("release.bundle.tar");
    let mut bundles = BTreeMap::new();
    for dir in dirs {
        let plumbline = || program.platform.command(&program.path);
        if dir.join("module.yaml").exists() {
            process::output(plumbline()?.args(["plugin", "build"]).arg(dir).envs(std.variable()))?;
        }
        process::output(plumbline()?.args(["plugin", "pack"]).arg(dir).arg("--file").arg(&scratch))?;
        let bytes = fs::read(&scratch).map_err(Error::io("read", &scratch))?;
        fs::remove_file(&scratch).map_err(Error::io("remove", &scratch))?;
        bundles.insert(dir.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes);
    }
    Ok(bundles)
}

/// Returns the directories with a profile.
fn dirs(workspace: &Workspace) -> Result<Vec<PathBuf>, Error> {
    let all = workspace.root().join("examples/profiles");
    let entries = fs::read_dir(&all).map_err(Error::io("read", &all))?;
    let mut dirs = Vec::new();
    for entry in entries {
        let dir = entry.map_err(Error::io("read", &all))?.path();
        if dir.join("profile.yaml").exists() {
            dirs.push(dir);
        }
    }
    Ok(dirs)
}
