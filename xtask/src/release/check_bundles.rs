//! The bundles of the example checks, which users run without this repository and without Rust.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::VERSION;
use super::inputs::Program;
use super::profiles::bundles;
use crate::error::Error;
use crate::paths::Workspace;

/// Returns the name of the file with the bundle of a check.
pub(super) fn name(check: &str) -> String {
    format!("check-{check}-v{VERSION}.bundle.tar")
}

/// Returns the bundles of the example checks by their names.
pub(super) fn collect(workspace: &Workspace, program: &Program) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    bundles(workspace, program, &dirs(workspace)?)
}

/// Returns the directories of the examples whose plugin runs a check.
fn dirs(workspace: &Workspace) -> Result<Vec<PathBuf>, Error> {
    let all = workspace.root().join("examples");
    let entries = fs::read_dir(&all).map_err(Error::io("read", &all))?;
    let mut dirs = Vec::new();
    for entry in entries {
        let dir = entry.map_err(Error::io("read", &all))?.path();
        let definition = dir.join("plugin.yaml");
        if !definition.exists() {
            continue;
        }
        let text = fs::read_to_string(&definition).map_err(Error::io("read", &definition))?;
        if text.lines().any(|line| line.starts_with("  component: ")) {
            dirs.push(dir);
        }
    }
    Ok(dirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_check_is_published() {
        let workspace = Workspace::find().unwrap();
        let mut names: Vec<String> =
            dirs(&workspace).unwrap().iter().map(|dir| dir.file_name().unwrap().to_string_lossy().into()).collect();
        names.sort();
        let expected = [
            "cis-node",
            "cluster-audit",
            "deprecated-apis",
            "gpu-drift",
            "node-certificates",
            "node-reachability",
            "node-ready",
        ];
        assert_eq!(names, expected);
    }
}
