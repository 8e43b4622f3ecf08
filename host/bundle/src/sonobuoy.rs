//! Plugin definitions that Sonobuoy has installed: YAML files in one directory.

use std::fs;
use std::io;
use std::path::PathBuf;

use plumbline_archive::atomic::write_atomic;
use plumbline_core::definition::MAX_YAML_BYTES;

use crate::cache::absolute;
use crate::unpack::read_start;

/// Maximum number of directory entries to list. Users have about a dozen definitions.
const MAX_LISTED: usize = 1_000;

/// Sonobuoy's directory for installed plugins: `$SONOBUOY_DIR`, or `~/.sonobuoy`. The plugin `NAME`
/// is in the file `NAME.yaml`.
#[derive(Debug, Clone)]
pub struct SonobuoyCache {
    dir: PathBuf,
}

/// Error while reading or writing a definition.
#[derive(Debug, thiserror::Error)]
#[error("failed to access `{}`: {source}", path.display())]
pub struct SonobuoyError {
    /// Path of the file or directory.
    pub path: PathBuf,
    /// The underlying I/O error.
    pub source: io::Error,
}

impl SonobuoyCache {
    /// Returns the user's directory. `None` if the user has no home directory.
    pub fn user() -> Option<Self> {
        let home = || absolute("HOME").map(|home| home.join(".sonobuoy"));
        let named = std::env::var_os("SONOBUOY_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        named.or_else(home).map(Self::at)
    }

    /// Returns the directory `dir`.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the names of the installed plugins, sorted, with their files. Empty if the directory
    /// does not exist.
    pub fn list(&self) -> Result<Vec<(String, PathBuf)>, SonobuoyError> {
        let failed = |source| SonobuoyError { path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Vec::new());
            }
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        for entry in entries.take(MAX_LISTED) {
            let path = entry.map_err(failed)?.path();
            if let Some(name) =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".yaml"))
                && is_plain(name)
                && path.is_file()
            {
                found.push((name.to_owned(), path));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Returns the path and content of the plugin `name` (with or without `.yaml`). It reads at
    /// most one byte more than a definition may have.
    pub fn find(&self, name: &str) -> Result<Option<(PathBuf, Vec<u8>)>, SonobuoyError> {
        let name = name.strip_suffix(".yaml").unwrap_or(name);
        if !is_plain(name) {
            return Ok(None);
        }
        let path = self.dir.join(format!("{name}.yaml"));
        if !path.is_file() {
            return Ok(None);
        }
        match read_start(&path, MAX_YAML_BYTES) {
            Ok(text) => Ok(Some((path, text))),
            Err(source) => Err(SonobuoyError { path, source }),
        }
    }

    /// Writes the definition `text` as the plugin `name` (with or without `.yaml`) and returns its
    /// path. An existing definition is replaced.
    pub fn install(&self, name: &str, text: &[u8]) -> Result<PathBuf, SonobuoyError> {
        let name = name.strip_suffix(".yaml").unwrap_or(name);
        let path = self.dir.join(format!("{name}.yaml"));
        let failed = |source| SonobuoyError { path: path.clone(), source };
        if !is_plain(name) {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "the name is not that of a file")));
        }
        fs::create_dir_all(&self.dir).map_err(failed)?;
        write_atomic(&path, text).map_err(failed)?;
        Ok(path)
    }
}

/// Returns whether `name` is a visible file name that stays in the directory.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_files_there_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("cache");
        fs::create_dir_all(inner.join("dir.yaml")).unwrap();
        fs::write(dir.path().join("outside.yaml"), "x").unwrap();
        fs::write(inner.join("b.yaml"), "b").unwrap();
        fs::write(inner.join("a.yaml"), "a").unwrap();
        fs::write(inner.join("notes.txt"), "").unwrap();
        fs::write(inner.join(".yaml"), "").unwrap();
        let cache = SonobuoyCache::at(inner.clone());
        let names: Vec<_> = cache.list().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(cache.find("b").unwrap().unwrap(), (inner.join("b.yaml"), b"b".to_vec()));
        assert_eq!(cache.find("b.yaml").unwrap().unwrap().1, b"b");
        for none in ["../outside", "c", "dir", "", "."] {
            assert!(cache.find(none).unwrap().is_none(), "{none}");
        }
        assert!(SonobuoyCache::at(dir.path().join("missing")).list().unwrap().is_empty());
    }
}
