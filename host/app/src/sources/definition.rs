//! Definitions in files and directories.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_bundle::{DEFINITION_FILES, Digest};
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Parsed};
use plumbline_worker::check_log_progress;

use super::{ResolvedPlugin, SourceKind};
use crate::error::AppError;

/// Whether `directory` has a definition.
pub(super) fn has_definition(directory: &Path) -> bool {
    DEFINITION_FILES.iter().any(|name| directory.join(name).is_file())
}

/// Reads the bundle in `directory`: `plugin.yaml` (or `plugin.yml`), with its modules next to it.
///
/// # Errors
/// The directory has no definition, or an invalid one.
pub fn from_directory(directory: &Path) -> Result<ResolvedPlugin, AppError> {
    let Some(path) = DEFINITION_FILES.iter().map(|name| directory.join(name)).find(|path| path.is_file()) else {
        return Err(AppError::usage(format!("directory `{}` has no `plugin.yaml`", directory.display()))
            .hint("a plugin's directory holds its definition under this name, and its modules next to it"));
    };
    // Plugins run in another directory, where a relative path has another meaning.
    let bundle = directory.canonicalize().map_err(|error| {
        AppError::system(format!("failed to resolve directory `{}`", directory.display())).because(&error)
    })?;
    parse(read_file(&path)?, &path.display().to_string(), Some(bundle))
}

/// Reads the definition in the file at `path`, and takes the modules next to it as those of its
/// bundle.
///
/// # Errors
/// The definition cannot be read or is invalid.
pub fn from_file(path: &Path) -> Result<ResolvedPlugin, AppError> {
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

pub(super) fn parse(text: Vec<u8>, origin: &str, bundle: Option<PathBuf>) -> Result<ResolvedPlugin, AppError> {
    let Parsed { definition, warnings } = Definition::parse_bytes(&text)
        .map_err(|error| AppError::usage(format!("invalid definition `{origin}`")).because(&error))?;
    if let Some(progress) = &definition.plumbline.progress {
        // Otherwise, a worker would report the mistake hours later, and only in its log.
        check_log_progress(progress)
            .map_err(|error| AppError::usage(format!("invalid definition `{origin}`")).because(&error))?;
    }
    let directory = bundle.clone();
    let source = Source { definition: Arc::new(definition), bundle };
    let digest = Some(Digest::of(&text));
    let kind = SourceKind::Named;
    let origin = origin.to_owned();
    Ok(ResolvedPlugin { source, directory, warnings, origin, digest, kind, signatures: None, pinned: None })
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, AppError> {
    let file = File::open(path)
        .map_err(|error| AppError::usage(format!("failed to read definition `{}`", path.display())).because(&error))?;
    read(file, &path.display().to_string())
}

pub(super) fn read(from: impl Read, origin: &str) -> Result<Vec<u8>, AppError> {
    let mut text = Vec::new();
    // With one byte more than the limit, the parser reports that the text is too long.
    from.take(MAX_YAML_BYTES as u64 + 1)
        .read_to_end(&mut text)
        .map_err(|error| AppError::usage(format!("failed to read definition `{origin}`")).because(&error))?;
    Ok(text)
}
