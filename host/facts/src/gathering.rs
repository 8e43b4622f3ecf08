//! What has been gathered so far, and what went wrong.

use serde_json::{Map, Value};

use crate::document::{Document, FactError};
use crate::options::Options;
use crate::source::{Source, Unreadable};

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
        let fact = if fact.starts_with(PREFIX) { fact.to_owned() } else { key(fact) };
        self.errors.push(FactError { fact, reason });
    }
}

/// The name as Ansible writes it.
pub(super) fn key(name: &str) -> String {
    format!("ansible_{}", name.replace('-', "_"))
}

/// What the keys of errors about these facts begin with.
pub(crate) const PREFIX: &str = "plumbline_facts.";
