//! The directories from which a local run was started. They are recorded, so that a resumed run
//! starts its plugins in the same directories.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_core::PluginName;
use serde::{Deserialize, Serialize};

/// The name of the record in the working directory of a run.
const RECORD: &str = "start.json";

/// The directory in which a local run was started, and those of its plugins' definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartDirectories {
    /// The current directory of the user, in which plugins without a `workingDir` start.
    pub current: PathBuf,
    /// The directory of each definition that was read from a file. Relative programs and
    /// `workingDir` are relative to it.
    #[serde(default)]
    pub definitions: BTreeMap<PluginName, PathBuf>,
}

impl StartDirectories {
    /// Records the directories in `work`, the working directory of the run.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written, or if a path is not UTF-8.
    pub fn save(&self, work: &Path) -> io::Result<()> {
        fs::write(work.join(RECORD), serde_json::to_vec(self)?)
    }

    /// Reads the record in `work`, or returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is damaged.
    pub fn load(work: &Path) -> io::Result<Option<Self>> {
        match fs::read(work.join(RECORD)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the base directory for relative paths in a plugin's definition.
    pub(crate) fn base<'a>(&'a self, plugin: &PluginName, bundle: Option<&'a Path>) -> &'a Path {
        bundle.or(self.definitions.get(plugin).map(PathBuf::as_path)).unwrap_or(&self.current)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_a_damaged_one_is_an_error() {
        let work = tempfile::tempdir().unwrap();
        assert_eq!(StartDirectories::load(work.path()).unwrap(), None);
        let smoke: PluginName = "smoke".parse().unwrap();
        let start =
            StartDirectories { current: "/here".into(), definitions: [(smoke.clone(), "/there".into())].into() };
        start.save(work.path()).unwrap();
        assert_eq!(StartDirectories::load(work.path()).unwrap().as_ref(), Some(&start));
        assert_eq!(start.base(&smoke, None), Path::new("/there"));
        assert_eq!(start.base(&smoke, Some(Path::new("/bundle"))), Path::new("/bundle"));
        assert_eq!(start.base(&"other".parse().unwrap(), None), Path::new("/here"));
        fs::write(work.path().join(RECORD), "{").unwrap();
        assert!(StartDirectories::load(work.path()).is_err());
    }
}
