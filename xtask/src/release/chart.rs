//! The Helm chart as an archive, which `helm push` uploads to a registry.

use std::fs;
use std::path::Path;

use super::VERSION;
use crate::error::Error;
use crate::image::tree::{self, Node, Tree, add_file};

/// The directory of the chart, and its name.
const DIRECTORY: &str = "deploy/helm/plumbline";
const NAME: &str = "plumbline";

/// Returns the name of the archive, as Helm chooses it.
pub(super) fn name() -> String {
    format!("{NAME}-{VERSION}.tgz")
}

/// Reads the chart of the repository at `root`. Its versions must be those of the program.
pub(super) fn read(root: &Path) -> Result<Tree, Error> {
    let mut tree = Tree::new();
    walk(&root.join(DIRECTORY), NAME, &mut tree)?;
    let chart = match tree.get(&format!("{NAME}/Chart.yaml")) {
        Some(Node::File { bytes, .. }) => String::from_utf8_lossy(bytes).into_owned(),
        _ => return Err(Error::unexpected(format!("`{DIRECTORY}` has no Chart.yaml"))),
    };
    for line in [format!("version: {VERSION}"), format!("appVersion: v{VERSION}")] {
        if !chart.lines().any(|own| own == line) {
            return Err(Error::unexpected(format!("`{DIRECTORY}/Chart.yaml` has no line `{line}`")));
        }
    }
    Ok(tree)
}

fn walk(dir: &Path, shown: &str, tree: &mut Tree) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(Error::io("read", dir))? {
        let path = entry.map_err(Error::io("read", dir))?.path();
        let name = format!("{shown}/{}", path.file_name().unwrap_or_default().to_string_lossy());
        if path.is_dir() {
            walk(&path, &name, tree)?;
        } else {
            let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
            add_file(tree, &name, 0o644, &bytes);
        }
    }
    Ok(())
}

/// Packs the chart. `helm package` would write the current time into the archive.
pub(super) fn pack(chart: &Tree) -> Result<Vec<u8>, Error> {
    tree::compress(chart)
}
