//! The directories that a local run was started from: recorded, so that a continued run starts its plugins in the same places.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plumbline_core::PluginName;
use serde::{Deserialize, Serialize};

/// The name of the record in the working directory of a run.
const RECORD: &str = "start.json";

/// Where a local run was started, and where the definitions of its plugins are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartDirectories {
    /// The current directory of the user: plugins without a `workingDir` start there.
    pub current: PathBuf,
    /// The directory of each definition that came from a file: relative programs and `workingDir` are relative to it.
    #[serde(default)]
    pub definitions: BTreeMap<PluginName, PathBuf>,
}

impl StartDirectories {
    /// Records the directories in `work`, the working directory of the run.
    ///
    /// # Errors
    /// When the file cannot be written, or a path is not UTF-8.
    pub fn save(&self, work: &Path) -> io::Result<()> {
        fs::write(work.join(RECORD), serde_json::to_vec(self)?)
    }

    /// Reads the record in `work`; `None` if there is none.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn load(work: &Path) -> io::Result<Option<Self>> {
        match fs::read(work.join(RECORD)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The directory that relative paths of a plugin's definition start from.
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
