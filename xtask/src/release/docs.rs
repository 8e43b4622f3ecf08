//! The documents that are packed with the program: its licence, completions and man pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::inputs::Program;
use crate::error::Error;
use crate::paths::Workspace;
use crate::process;

/// The shells with completions, and the usual names of the files.
const SHELLS: [(&str, &str); 3] = [("bash", "plumbline.bash"), ("zsh", "_plumbline"), ("fish", "plumbline.fish")];

/// Files by name.
#[derive(Debug)]
pub(super) struct Docs {
    pub(super) license: Vec<u8>,
    pub(super) readme: Vec<u8>,
    pub(super) changelog: Vec<u8>,
    /// The completion scripts.
    pub(super) completions: BTreeMap<String, Vec<u8>>,
    /// The man pages, all of section 1.
    pub(super) pages: BTreeMap<String, Vec<u8>>,
}

/// Reads the files of the repository, and lets `program` write the others.
pub(super) fn collect(workspace: &Workspace, program: &Program) -> Result<Docs, Error> {
    let read = |name: &str| {
        let path = workspace.root().join(name);
        fs::read(&path).map_err(Error::io("read", &path))
    };
    let mut completions = BTreeMap::new();
    for (shell, name) in SHELLS {
        let mut command = program.platform.command(&program.path)?;
        let script = process::output(command.args(["completion", shell]))?;
        completions.insert(name.to_owned(), script.into_bytes());
    }
    Ok(Docs {
        license: read("LICENSE")?,
        readme: read("README.md")?,
        changelog: read("CHANGELOG.md")?,
        completions,
        pages: pages(program, &workspace.target().join("release-man"))?,
    })
}

/// Returns the pages that `program` writes into the directory `dir`, which is removed afterwards.
fn pages(program: &Program, dir: &Path) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(Error::io("remove", dir))?;
    }
    let mut command = program.platform.command(&program.path)?;
    process::output(command.arg("man").arg(dir))?;
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let entry = entry.map_err(Error::io("read", dir))?;
        let bytes = fs::read(entry.path()).map_err(Error::io("read", &entry.path()))?;
        pages.insert(entry.file_name().to_string_lossy().into_owned(), bytes);
    }
    fs::remove_dir_all(dir).map_err(Error::io("remove", dir))?;
    Ok(pages)
}
