//! What `--plugin` can name: a built-in plugin, a file, a directory, a packed bundle, an address, a registry, an installed bundle, standard
//! input.

use std::io;
use std::path::Path;
use std::sync::Arc;

use plumbline_bundle::built_in::Place;
use plumbline_core::PluginName;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES};

use crate::error::CliError;
use definition::{directory_of, has_definition, parse, read, read_file};

pub(crate) mod address;
mod built_in;
mod definition;
mod failure;
mod found;
mod installed;
mod packed;
pub(crate) mod remote;
mod unknown;

pub(crate) use built_in::{built_in_names, built_in_yaml};
pub(crate) use definition::{from_directory, from_file};
pub(crate) use failure::{bundle_error, cache_error, store_error};
pub(crate) use found::{Found, Where};
pub(crate) use installed::{sonobuoy, store};
pub(crate) use packed::{is_packed, signatures_beside};
pub(crate) use remote::{is_remote, pull};

/// The plugin that `reference` names: the built-in plugin of that name, as it is executed at `place`, else a file (a definition or a packed
/// bundle), a directory with `plugin.yaml`, an address, a reference to a registry, an installed bundle, or `-` for standard input. All
/// but built-in plugins, directories and registries may end in `@NAME`: the plugin is then called so.
pub(crate) fn find(reference: &str, place: Place) -> Result<Found, CliError> {
    if reference == "-" {
        return parse(read(io::stdin().lock(), "standard input")?, "standard input", None);
    }
    if let Some(built_in) = plumbline_bundle::built_in::definition(reference) {
        let found = parse(built_in_yaml(&built_in, place)?.into(), reference, None)?;
        return Ok(Found { place: Where::BuiltIn, ..found });
    }
    if is_remote(reference) {
        return remote::found(reference);
    }
    let path = Path::new(reference);
    // A directory that happens to have the name of an installed bundle, and is none, does not hide it.
    if path.is_dir() && (has_definition(path) || !installed::is_installed(reference)) {
        return from_directory(path);
    }
    let (there, name) = renamed(reference);
    let found = if address::is_address(there) {
        Some(address::found(there)?)
    } else if let Some(found) = by_path_or_name(reference)? {
        // That is its name, whatever it looks like.
        return Ok(found);
    } else if name.is_some() {
        by_path_or_name(there)?
    } else {
        None
    };
    match (found, name) {
        (Some(found), Some(name)) => Ok(found.called(name)),
        (Some(found), None) => Ok(found),
        (None, _) => Err(unknown::unknown(reference, place)),
    }
}

/// The text of the definition in a file or behind a URL, once it can be used.
pub(crate) fn definition_text(reference: &str) -> Result<Vec<u8>, CliError> {
    let text = if address::is_address(reference) {
        address::get(reference, MAX_YAML_BYTES)?
            .map_err(|cause| CliError::usage(format!("failed to download definition `{reference}`: {cause}")))?
    } else {
        read_file(Path::new(reference))?
    };
    parse(text.clone(), reference, None)?;
    Ok(text)
}

/// The definitions of these plugins, for what options make of them.
pub(crate) fn definitions(found: &mut [Found]) -> Vec<&mut Arc<Definition>> {
    found.iter_mut().map(|one| &mut one.source.definition).collect()
}

/// A file, else what is installed under this name.
fn by_path_or_name(reference: &str) -> Result<Option<Found>, CliError> {
    let path = Path::new(reference);
    if !path.is_file() {
        return installed::found(reference);
    }
    match is_packed(path) {
        true => packed::found(path, reference).map(Some),
        // A single file is no bundle: modules beside it are not its own.
        false => {
            let found = parse(read_file(path)?, reference, None)?;
            Ok(Some(Found { directory: directory_of(path), ..found }))
        }
    }
}

/// What is meant, and the name that it is to have: `smoke.yaml@nightly`. In an address, an `@` before the host is something else.
fn renamed(reference: &str) -> (&str, Option<PluginName>) {
    let parts = reference.rsplit_once('@').filter(|(there, _)| !there.is_empty());
    let Some((there, name)) = parts else { return (reference, None) };
    match name.parse() {
        Ok(name) if !there.ends_with("//") => (there, Some(name)),
        _ => (reference, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_is_one_plugin_here_and_another_in_a_cluster() {
        let driver = |place| find("host-facts", place).unwrap().source.definition.driver;
        assert_eq!(driver(Place::Local), plumbline_core::Driver::Process);
        assert_eq!(driver(Place::Cluster), plumbline_core::Driver::DaemonSet);
    }
}
