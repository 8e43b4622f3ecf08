//! WASI for checks in JavaScript and Python. Their SDKs call its functions through bindings, as they
//! call the contract.

use std::fs;
use std::path::{Path, PathBuf};

use plumbline_core::limits::MAX_COMPONENT_BYTES;
use plumbline_sandbox::componentize::CONTRACT;
use wasmparser::{BinaryReaderError, Parser, Payload};

use crate::error::AuthorError;
use crate::project::{Project, read_bounded};

/// The world of the contract for checks.
const CHECK: &str = "check-module";
/// A world with the same role, and with the functions of WASI that the SDKs call.
const WIT: &str = include_str!("check.wit");
/// The name of this world.
const WORLD: &str = "check";
/// The namespace of WASI.
const WASI: &str = "wasi:";
/// A namespace of the same length in place of [`WASI`], for a tool that replaces every import of
/// WASI by a stub.
const STAND_IN: &str = "host:";

pub(super) struct World<'a> {
    pub(super) name: &'a str,
    pub(super) directory: PathBuf,
}

/// Returns whether the module is a check, which uses WASI.
pub(super) fn is_check(project: &Project) -> bool {
    project.world() == CHECK
}

/// Returns the project's own `wit/`, or else a copy of the embedded contract in the build
/// directory.
fn contract_directory(project: &Project) -> Result<PathBuf, AuthorError> {
    if let Some(own) = project.wit() {
        return Ok(own);
    }
    let directory = project.build_directory().join("wit");
    fs::create_dir_all(&directory).map_err(AuthorError::io("create", &directory))?;
    for (name, text) in CONTRACT {
        let file = directory.join(name);
        fs::write(&file, text).map_err(AuthorError::io("write", &file))?;
    }
    Ok(directory)
}

/// Returns the world of the project. That of a check has the functions of WASI, under another
/// namespace if `stand_in` is set.
pub(super) fn world(project: &Project, stand_in: bool) -> Result<World<'_>, AuthorError> {
    let contract = contract_directory(project)?;
    if !is_check(project) {
        return Ok(World { name: project.world(), directory: contract });
    }
    let directory = project.build_directory().join("check-wit");
    // Files of an earlier build must not become part of the contract.
    let _ = fs::remove_dir_all(&directory);
    let dependency = directory.join("deps/plumbline");
    fs::create_dir_all(&dependency).map_err(AuthorError::io("create", &dependency))?;
    for entry in fs::read_dir(&contract).map_err(AuthorError::unreadable(&contract))? {
        let path = entry.map_err(AuthorError::unreadable(&contract))?.path();
        if let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|extension| extension == "wit")) {
            fs::copy(&path, dependency.join(name)).map_err(AuthorError::unreadable(&path))?;
        }
    }
    let text = if stand_in { WIT.replace(WASI, STAND_IN) } else { WIT.to_owned() };
    let file = directory.join("check.wit");
    fs::write(&file, text).map_err(AuthorError::io("write", &file))?;
    Ok(World { name: WORLD, directory })
}

/// Gives the imports of a component their names of WASI.
pub(super) fn restore(component: &Path) -> Result<(), AuthorError> {
    let mut bytes = read_bounded(component, MAX_COMPONENT_BYTES)?;
    let names = imports(&bytes).map_err(|error| {
        AuthorError::input(format!("the build produced no component: `{}`", component.display())).because(error)
    })?;
    for name in names {
        // Both namespaces have the same length, so nothing moves.
        if let Some(place) = bytes.get_mut(name..name + WASI.len()) {
            place.copy_from_slice(WASI.as_bytes());
        }
    }
    fs::write(component, bytes).map_err(AuthorError::io("write", component))
}

/// Returns where the names of the imports with the other namespace are in a component.
fn imports(component: &[u8]) -> Result<Vec<usize>, BinaryReaderError> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section.into_iter_with_offsets() {
                    let (offset, import) = import?;
                    let name = import.name.name.as_bytes();
                    // The kind and the length of the name come before it.
                    let rest = component.get(offset..).unwrap_or_default();
                    let place = rest.windows(name.len().max(1)).position(|bytes| bytes == name);
                    found.extend(place.filter(|_| name.starts_with(STAND_IN.as_bytes())).map(|place| offset + place));
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_imports_of_the_component_itself_are_renamed() {
        assert_eq!(WASI.len(), STAND_IN.len());
        let wat = |namespace: &str| {
            let text = format!(
                r#"(component
                    (component (import "host:a/inner" (func)))
                    (import "{namespace}:filesystem/types@0.2.0" (instance))
                    (import "plumbline:plugin/host" (func))
                    (import "{namespace}:cli/environment@0.2.0" (instance)))"#
            );
            wat::parse_str(text).unwrap()
        };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("check.wasm");
        fs::write(&file, wat("host")).unwrap();
        restore(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), wat("wasi"));
        fs::write(&file, "text").unwrap();
        assert!(restore(&file).unwrap_err().what.contains("the build produced no component"));
    }
}
