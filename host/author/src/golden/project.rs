//! The plugin whose cases are run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_aggregator::Source;
use plumbline_core::definition::{Definition, MAX_YAML_BYTES, Warning};

use super::error::GoldenError;

/// The file names of a definition.
const NAMES: [&str; 2] = ["plugin.yaml", "plugin.yml"];

/// A directory with a definition, its modules and its cases.
#[derive(Debug, Clone)]
pub struct Project {
    /// The directory, as an absolute path.
    pub dir: PathBuf,
    /// The plugin.
    pub source: Source,
    /// Warnings about the definition.
    pub warnings: Vec<Warning>,
}

impl Project {
    /// Reads the definition in `dir`.
    ///
    /// # Errors
    /// There is no definition, or it is invalid.
    pub fn open(dir: &Path) -> Result<Self, GoldenError> {
        let failed = |source| GoldenError::Read { path: dir.to_owned(), source };
        let absolute = dir.canonicalize().map_err(failed)?;
        let path = NAMES.iter().map(|name| absolute.join(name)).find(|path| path.is_file());
        let path = path.ok_or_else(|| GoldenError::NoDefinition(dir.to_owned()))?;
        let (definition, warnings) = definition(&path)?;
        let source = Source { definition: Arc::new(definition), bundle: Some(absolute.clone()) };
        Ok(Self { dir: absolute, source, warnings })
    }
}

/// Reads the definition in the file at `path`.
pub(super) fn definition(path: &Path) -> Result<(Definition, Vec<Warning>), GoldenError> {
    let text =
        read(path, MAX_YAML_BYTES as u64).map_err(|source| GoldenError::Read { path: path.to_owned(), source })?;
    let parsed =
        Definition::parse_bytes(&text).map_err(|source| GoldenError::Definition { path: path.to_owned(), source })?;
    Ok((parsed.definition, parsed.warnings))
}

/// Reads a file, up to one byte more than `limit`, so that callers can detect that it is too large.
pub(super) fn read(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
