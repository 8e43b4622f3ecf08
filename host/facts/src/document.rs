//! What was found out, and writing it down.

use std::io::Write;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The facts of a machine, and what could not be found out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// `plumbline`, or `ansible` where the machine's own Ansible was asked for [`Document::ansible_facts`].
    pub gathered_by: String,
    /// The facts that Ansible's `setup` has, under its names, with its types.
    pub ansible_facts: Map<String, Value>,
    /// What matters on a node of a cluster besides.
    pub plumbline_facts: Map<String, Value>,
    /// What could not be found out, in the order in which it was tried.
    pub errors: Vec<FactError>,
}

/// A fact that could not be found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactError {
    /// Its key (`ansible_mounts`, `plumbline_facts.kubelet`), or `KEY.PART` where only a part is missing.
    pub fact: String,
    /// What was tried and what was wrong with it.
    pub reason: String,
}

/// The facts could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the facts to {path}: {source}")]
pub struct WriteError {
    /// Where they should have gone.
    pub path: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}

impl Document {
    /// A fact of Ansible's by its name without the prefix.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.ansible_facts.get(&format!("ansible_{name}"))
    }

    /// The facts as a JSON document (RFC 8259), indented, with a newline at its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Text keys and plain values only: there is nothing in it that JSON cannot hold.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Writes [`Document::to_json`] to `path`, which then holds all of it or is what it was before.
    ///
    /// # Errors
    /// When the directory of `path` cannot be written to.
    pub fn write_to(&self, path: &Path) -> Result<(), WriteError> {
        replace(path, self.to_json().as_bytes())
    }
}

fn replace(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    let fail = |source| WriteError { path: path.to_owned(), source };
    let mut file = AtomicFile::create(path).and_then(AtomicFile::readable_by_all).map_err(fail)?;
    file.write_all(content).map_err(fail)?;
    file.commit().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_equal_and_leaves_nothing_behind() {
        let mut facts = Document { gathered_by: "plumbline".to_owned(), ..Document::default() };
        facts.ansible_facts.insert("ansible_kernel".to_owned(), Value::from("6.1"));
        facts.errors.push(FactError { fact: "ansible_dns".to_owned(), reason: "none".to_owned() });
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("facts.json");
        facts.write_to(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), facts);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "no temporary file stays behind");
        let error = facts.write_to(&place.path().join("none/facts.json")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the facts to ") && error.contains("none/facts.json"), "{error}");
    }
}
