//! Facts as JSON.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::data::Facts;

/// The facts could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the facts to {path}: {source}")]
pub struct WriteError {
    /// Where they should have gone.
    pub path: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

impl Facts {
    /// The facts as a JSON document (RFC 8259), indented, with a newline at its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Text keys and plain values only: there is nothing in it that JSON cannot hold.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Writes [`Facts::to_json`] to `path`, which then holds all of it or is what it was before.
    ///
    /// # Errors
    /// When the directory of `path` cannot be written to.
    pub fn write_to(&self, path: &Path) -> Result<(), WriteError> {
        let fail = |source| WriteError { path: path.to_owned(), source };
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(fail)?;
        file.write_all(self.to_json().as_bytes()).map_err(fail)?;
        // Temporary files are private; a result is read by the worker, which may run as somebody else.
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::fchmod(file.as_file(), mode).map_err(|errno| fail(errno.into()))?;
        file.persist(path).map_err(|failed| fail(failed.error))?;
        Ok(())
    }
}
