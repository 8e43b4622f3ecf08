//! The document with the gathered facts, and how it is written.

use std::io::Write;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The facts of a machine, and errors for those that could not be gathered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Document {
    /// `plumbline`, or `ansible` if [`Document::ansible_facts`] come from the machine's own
    /// Ansible.
    pub gathered_by: String,
    /// The facts of Ansible's `setup` module, under its names and with its types.
    pub ansible_facts: Map<String, Value>,
    /// Further facts that matter on a cluster node.
    pub plumbline_facts: Map<String, Value>,
    /// The facts that could not be gathered, in the order of the attempts.
    pub errors: Vec<FactError>,
}

/// A fact that could not be gathered, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FactError {
    /// The key (`ansible_mounts`, `plumbline_facts.kubelet`), or `KEY.PART` if only a part is
    /// missing.
    pub fact: String,
    /// What was attempted, and why it failed.
    pub reason: String,
}

/// Error while writing the facts to a file.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the facts to {path}: {source}")]
pub struct WriteError {
    /// The path of the file.
    pub path: PathBuf,
    /// The underlying I/O error.
    pub source: std::io::Error,
}

impl Document {
    /// Returns a fact of [`Document::ansible_facts`] by its name without the prefix `ansible_`.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.ansible_facts.get(&format!("ansible_{name}"))
    }

    /// Returns the facts as an indented JSON document (RFC 8259) that ends with a newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        // The document has only string keys and plain values, so serialization cannot fail.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Writes [`Document::to_json`] to `path` atomically: a failure leaves the previous content in
    /// place.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written, for example because its directory is not
    /// writable.
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
        assert!(error.starts_with("failed to write the facts to ") && error.contains("none/facts.json"), "{error}");
    }
}
