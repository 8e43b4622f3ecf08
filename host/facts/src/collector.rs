//! What to gather, the facts gathered so far, and the document that holds them in the end.

use std::io::Write;
use std::path::{Path, PathBuf};

use plumbline_archive::atomic::AtomicFile;
use serde::{Deserialize, Serialize};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::source::{Source, Unreadable};

/// The directory in which Ansible looks for local facts.
pub const DEFAULT_FACTS_DIR: &str = "/etc/ansible/facts.d";

/// The prefix of error keys for Plumbline facts.
const PREFIX: &str = "plumbline_facts.";

/// Selects the machine and the permitted actions.
#[derive(Debug, Clone)]
pub struct Options {
    /// The root of the machine's file tree: `/` for this machine.
    pub root: PathBuf,
    /// The directory of local facts, a path below the root.
    pub facts_dir: String,
    /// Whether to run executable files in [`Options::facts_dir`]. If false, each of them is listed
    /// among the errors.
    pub run_collectors: bool,
    /// Whether to run the machine's `kubelet`, container runtime and `chronyc` for facts that are
    /// not in any file.
    pub run_programs: bool,
    /// The program that executes another program in a root, with its first arguments.
    ///
    /// Like `chroot`, it is called with a root, a program and the program's arguments. Without a
    /// helper, nothing runs below a foreign root.
    pub helper: Option<(PathBuf, Vec<String>)>,
    /// The path of the program `ansible`, or `None` to search for it.
    pub ansible: Option<PathBuf>,
}

impl Options {
    /// Returns options that only read files below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            facts_dir: DEFAULT_FACTS_DIR.to_owned(),
            run_collectors: false,
            run_programs: false,
            helper: None,
            ansible: None,
        }
    }
}

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
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.ansible_facts.get(&format!("ansible_{name}"))
    }

    /// Returns the facts as an indented JSON document (RFC 8259) that ends with a newline.
    pub fn to_json(&self) -> String {
        // The document has only string keys and plain values, so serialization cannot fail.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Writes [`Document::to_json`] to `path` atomically: a failure leaves the previous content in
    /// place.
    pub fn write_to(&self, path: &Path) -> Result<(), WriteError> {
        let write = || {
            let mut file = AtomicFile::create(path)?.readable_by_all()?;
            file.write_all(self.to_json().as_bytes())?;
            file.commit()
        };
        write().map_err(|source| WriteError { path: path.to_owned(), source })
    }
}

/// Collects facts from a source into a document.
pub(crate) struct Collector<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    document: Document,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(source: &'a Source, options: &'a Options, by: &str) -> Self {
        Self { source, options, document: Document { gathered_by: by.to_owned(), ..Document::default() } }
    }

    pub(crate) fn finish(self) -> Document {
        self.document
    }

    /// Stores an Ansible fact under its name without the prefix.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.document.ansible_facts.insert(key(name), value.into());
    }

    /// Stores the fields of an object as Ansible facts.
    pub(crate) fn set_all(&mut self, facts: Map<String, Value>) {
        self.document.ansible_facts.extend(facts.into_iter().map(|(name, value)| (key(&name), value)));
    }

    /// Stores a fact whose name comes from the machine, and rejects a name that is already in use.
    ///
    /// Otherwise an interface named `kernel` would replace the kernel version.
    pub(crate) fn set_dynamic(&mut self, name: &str, value: Value) {
        match self.document.ansible_facts.entry(key(name)) {
            Entry::Vacant(entry) => drop(entry.insert(value)),
            Entry::Occupied(_) => self.miss(name, "duplicate fact name"),
        }
    }

    /// Returns a string fact that was stored before, or an empty string.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.document.fact(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Stores a Plumbline fact.
    pub(crate) fn own(&mut self, name: &str, value: impl Into<Value>) {
        self.document.plumbline_facts.insert(name.to_owned(), value.into());
    }

    /// Returns the value, or records an error and returns `None`.
    pub(crate) fn keep<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        found.map_err(|reason| self.miss(fact, reason.to_string())).ok()
    }

    /// Like [`Collector::keep`], but a missing file is not an error: the machine does not have the
    /// feature.
    pub(crate) fn keep_if_there<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Err(reason) if reason.is_missing() => None,
            other => self.keep(fact, other),
        }
    }

    /// Stores the value as an Ansible fact, or records the error.
    pub(crate) fn keep_as(&mut self, name: &str, found: Result<impl Into<Value>, Unreadable>) {
        if let Some(value) = self.keep(name, found) {
            self.set(name, value);
        }
    }

    /// Records why a fact, or a part of it, is missing.
    ///
    /// `fact` is an Ansible fact without its prefix, or a Plumbline fact with [`PREFIX`].
    pub(crate) fn miss(&mut self, fact: &str, reason: impl Into<String>) {
        let fact = if fact.starts_with(PREFIX) { fact.to_owned() } else { key(fact) };
        self.document.errors.push(FactError { fact, reason: reason.into() });
    }
}

fn key(name: &str) -> String {
    format!("ansible_{}", name.replace('-', "_"))
}

/// Returns the fields of an object that have a value other than `null`.
pub(crate) fn present(object: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = object else { return Map::new() };
    fields.retain(|_, value| !value.is_null());
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_document_reads_back_equal_and_leaves_no_other_file() {
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
