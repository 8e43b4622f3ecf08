//! Definitions in files and directories.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_bundle::{DEFINITION_FILES, Digest};
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Parsed};
use plumbline_worker::check_log_progress;

use super::{Found, Where};
use crate::error::CliError;

/// Whether `directory` holds a definition.
pub(super) fn has_definition(directory: &Path) -> bool {
    DEFINITION_FILES.iter().any(|name| directory.join(name).is_file())
}

/// A bundle: `plugin.yaml` (or `plugin.yml`), with its modules beside it.
pub(crate) fn from_directory(directory: &Path) -> Result<Found, CliError> {
    let Some(path) = DEFINITION_FILES.iter().map(|name| directory.join(name)).find(|path| path.is_file()) else {
        return Err(CliError::usage(format!("directory `{}` has no `plugin.yaml`", directory.display()))
            .hint("a plugin's directory holds its definition under this name, and its modules next to it"));
    };
    // Executions run elsewhere: a relative path would mean something else there.
    let bundle = directory.canonicalize().map_err(|error| {
        CliError::system(format!("failed to resolve directory `{}`", directory.display())).because(&error)
    })?;
    parse(read_file(&path)?, &path.display().to_string(), Some(bundle))
}

/// The definition in the file at `path`, whose modules stand beside it if it is a bundle's.
pub(crate) fn from_file(path: &Path) -> Result<Found, CliError> {
    if path.is_dir() {
        return from_directory(path);
    }
    parse(read_file(path)?, &path.display().to_string(), directory_of(path))
}

/// The directory of the file at `path`, as an absolute path.
pub(super) fn directory_of(path: &Path) -> Option<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    parent.canonicalize().ok()
}

pub(super) fn parse(text: Vec<u8>, origin: &str, bundle: Option<PathBuf>) -> Result<Found, CliError> {
    let Parsed { definition, warnings } = Definition::parse_bytes(&text)
        .map_err(|error| CliError::usage(format!("invalid definition `{origin}`")).because(&error))?;
    if let Some(progress) = &definition.plumbline.progress {
        // A worker would find out an hour later, and only tell its log.
        check_log_progress(progress)
            .map_err(|error| CliError::usage(format!("invalid definition `{origin}`")).because(&error))?;
    }
    let directory = bundle.clone();
    let source = Source { definition: Arc::new(definition), bundle };
    let digest = Some(Digest::of(&text));
    let place = Where::Named;
    Ok(Found { source, directory, warnings, origin: origin.to_owned(), digest, place, signatures: None, pinned: None })
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let file = File::open(path)
        .map_err(|error| CliError::usage(format!("failed to read definition `{}`", path.display())).because(&error))?;
    read(file, &path.display().to_string())
}

pub(super) fn read(from: impl Read, origin: &str) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    // One byte over the limit is enough for the parser to say that it is too long.
    from.take(MAX_YAML_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| CliError::usage(format!("failed to read definition `{origin}`")).because(&error))?;
    Ok(text)
}
