//! Reader for the archive of a finished run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use plumbline_aggregator::Finished;
use plumbline_core::Item;
use serde_json::Value;

/// The regular files of an archive.
pub(crate) struct Archive(pub(crate) BTreeMap<String, Vec<u8>>);

impl Archive {
    pub(crate) fn of(finished: &Finished) -> Self {
        Self::read(&finished.archive)
    }

    pub(crate) fn read(path: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut tar = tar::Archive::new(GzDecoder::new(File::open(path).unwrap()));
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            if entry.header().entry_type().is_file() {
                let name = entry.path().unwrap().to_str().unwrap().to_owned();
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).unwrap();
                files.insert(name, bytes);
            }
        }
        Self(files)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        let bytes = self.0.get(name).unwrap_or_else(|| panic!("no `{name}` among {:?}", self.0.keys()));
        std::str::from_utf8(bytes).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(self.text(name)).unwrap()
    }

    pub(crate) fn tree(&self, plugin: &str) -> Item {
        serde_saphyr::from_str(self.text(&format!("plugins/{plugin}/sonobuoy_results.yaml"))).unwrap()
    }
}
