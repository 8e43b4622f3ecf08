//! Goes through all facts once.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::document::{Document, FactError};
use crate::source::{Source, Unreadable};
use crate::{ansible, node};

/// Where Ansible looks for facts that a machine's owner put there.
pub const DEFAULT_FACTS_DIR: &str = "/etc/ansible/facts.d";

/// What to gather, and what may be done for it.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the machine's file tree begins: `/` for this one.
    pub root: PathBuf,
    /// The directory of additional facts, a path below the root.
    pub facts_dir: String,
    /// Whether executable files of [`Options::facts_dir`] are run. Else each is named among the errors.
    pub run_collectors: bool,
    /// Whether the machine's own `kubelet`, container runtime and `chronyc` are run to ask what no file tells.
    pub run_programs: bool,
    /// A program, with its first arguments, that makes the directory after them its root and becomes the program after that, as `chroot` does.
    /// Without it nothing runs below a foreign root.
    pub helper: Option<(PathBuf, Vec<String>)>,
    /// The program `ansible`, where it is not to be searched for.
    pub ansible: Option<PathBuf>,
}

impl Options {
    /// Files below `root` only.
    #[must_use]
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

/// Finds out what can be found out about a machine.
///
/// Never fails: what cannot be read is left out and named in [`Document::errors`]. Reads files; beyond that it asks the kernel for what
/// no file tells (its release, the sizes of filesystems, the addresses of interfaces), and runs programs only if the options say so.
#[must_use]
pub fn gather(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Gathering::new(&source, options);
    ansible::gather(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("plumbline")
}

/// [`Document::plumbline_facts`], and of Ansible's facts only those from files of the machine's owner, for somebody who adds the others.
pub(crate) fn gather_own(options: &Options) -> Document {
    let source = Source::new(&options.root);
    let mut gathering = Gathering::new(&source, options);
    ansible::gather_local(&mut gathering);
    node::gather(&mut gathering);
    gathering.finish("ansible")
}

/// The facts so far, and where more come from.
pub(crate) struct Gathering<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    facts: Map<String, Value>,
    own: Map<String, Value>,
    errors: Vec<FactError>,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(source: &'a Source, options: &'a Options) -> Self {
        Self { source, options, facts: Map::new(), own: Map::new(), errors: Vec::new() }
    }

    pub(crate) fn finish(self, by: &str) -> Document {
        Document {
            gathered_by: by.to_owned(),
            ansible_facts: self.facts,
            plumbline_facts: self.own,
            errors: self.errors,
        }
    }

    /// Keeps a fact of Ansible's, by its name without the prefix.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(key(name), value.into());
    }

    /// Keeps a fact whose name is not ours to choose. One that another fact has already is refused, or an interface named `kernel`
    /// would replace what the kernel is.
    pub(crate) fn set_named_elsewhere(&mut self, name: &str, value: Value) {
        match self.facts.entry(key(name)) {
            serde_json::map::Entry::Vacant(place) => drop(place.insert(value)),
            serde_json::map::Entry::Occupied(_) => self.miss(name, "another fact has this name already".to_owned()),
        }
    }

    /// A text that was kept before; empty where there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.facts.get(&key(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// Keeps a fact of our own.
    pub(crate) fn own(&mut self, name: &str, value: impl Into<Value>) {
        self.own.insert(name.to_owned(), value.into());
    }

    /// The value, or nothing and an entry among the errors.
    pub(crate) fn keep<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Ok(value) => Some(value),
            Err(reason) => {
                self.miss(fact, reason.to_string());
                None
            }
        }
    }

    /// Like [`Gathering::keep`], for facts whose file is absent where the machine has no such thing: that is no error.
    pub(crate) fn keep_if_there<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Err(reason) if reason.is_missing() => None,
            other => self.keep(fact, other),
        }
    }

    /// Keeps the value of a file as a fact of Ansible's, or says why there is none.
    pub(crate) fn keep_as(&mut self, name: &str, found: Result<impl Into<Value>, Unreadable>) {
        if let Some(value) = self.keep(name, found) {
            self.set(name, value);
        }
    }

    /// Says why a fact, or a part of it, is missing. Names of Ansible's facts are given without their prefix, ours with it.
    pub(crate) fn miss(&mut self, fact: &str, reason: String) {
        let fact = if fact.starts_with(node::PREFIX) { fact.to_owned() } else { key(fact) };
        self.errors.push(FactError { fact, reason });
    }
}

/// The name as Ansible writes it.
fn key(name: &str) -> String {
    format!("ansible_{}", name.replace('-', "_"))
}
