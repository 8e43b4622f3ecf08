//! The types of the contract, embedded in this program or in a directory.

use std::fs;
use std::path::Path;

use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

use crate::componentize::error::ComponentizeError;

/// The contract: the files of `wit/`, by name.
pub const CONTRACT: [(&str, &str); 2] = [
    ("roles.wit", include_str!("../../../../wit/roles.wit")),
    ("types.wit", include_str!("../../../../wit/types.wit")),
];

/// The world of most modules, with only a post-processor.
pub const DEFAULT_WORLD: &str = "post-processor-module";

/// The maximum size of all files in a WIT directory, in bytes. The contract has about 15 KiB, and
/// all of WASI about 300.
const MAX_WIT_BYTES: u64 = 4 << 20;

/// Returns the names of the worlds in the embedded contract.
pub fn worlds() -> Result<Vec<String>, ComponentizeError> {
    let (resolve, package) = resolve(None)?;
    Ok(names(&resolve, package))
}

/// Resolves the world with this name, in the directory `wit` or in the embedded contract.
pub(crate) fn world(wit: Option<&Path>, name: &str) -> Result<(Resolve, WorldId), ComponentizeError> {
    let (resolve, package) = resolve(wit)?;
    match resolve.select_world(&[package], Some(name)) {
        Ok(world) => Ok((resolve, world)),
        Err(_) => Err(ComponentizeError::World { name: name.to_owned(), known: names(&resolve, package) }),
    }
}

/// Returns the exports that the world requires of a core module, with the names that compilers use.
pub(crate) fn wanted_exports(resolve: &Resolve, world: WorldId) -> Vec<String> {
    let Some(world) = resolve.worlds.get(world) else { return Vec::new() };
    let mut wanted = Vec::new();
    for (key, item) in &world.exports {
        let name = resolve.name_world_key(key);
        match item {
            wit_parser::WorldItem::Interface { id, .. } => {
                let functions = resolve.interfaces.get(*id).map(|interface| interface.functions.keys());
                wanted.extend(functions.into_iter().flatten().map(|function| format!("{name}#{function}")));
            }
            wit_parser::WorldItem::Function(_) => wanted.push(name),
            wit_parser::WorldItem::Type { .. } => {}
        }
    }
    wanted
}

fn resolve(wit: Option<&Path>) -> Result<(Resolve, PackageId), ComponentizeError> {
    let mut resolve = Resolve::default();
    let package = match wit {
        None => {
            let mut sources = SourceMap::default();
            for (name, text) in CONTRACT {
                sources.push_str(name, text);
            }
            let broken = |reason: String| ComponentizeError::Wit { place: "inside this program".to_owned(), reason };
            let group = sources.parse().map_err(|(_, error)| broken(error.to_string()))?;
            resolve.push_group(group).map_err(|error| broken(error.to_string()))?
        }
        Some(directory) => {
            let broken =
                |reason: String| ComponentizeError::Wit { place: format!("in `{}`", directory.display()), reason };
            let bytes = size(directory, 3).map_err(|error| broken(error.to_string()))?;
            if bytes > MAX_WIT_BYTES {
                return Err(broken(format!("its files have {bytes} bytes (limit: {MAX_WIT_BYTES})")));
            }
            resolve.push_dir(directory).map_err(|error| broken(format!("{error:#}")))?.0
        }
    };
    Ok((resolve, package))
}

/// Returns the size of the files in a directory and `levels` below it, the depth that a WIT parser
/// reads.
fn size(directory: &Path, levels: u32) -> std::io::Result<u64> {
    let mut bytes: u64 = 0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = fs::metadata(&path)?;
        let more = match (metadata.is_dir(), levels) {
            (true, 0) => 0,
            (true, _) => size(&path, levels - 1)?,
            (false, _) => metadata.len(),
        };
        bytes = bytes.saturating_add(more);
    }
    Ok(bytes)
}

fn names(resolve: &Resolve, package: PackageId) -> Vec<String> {
    resolve.packages.get(package).map(|package| package.worlds.keys().cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
#[path = "contract_tests.rs"]
mod tests;
