//! The facts gathered so far, and the errors.

use serde_json::{Map, Value};

use crate::document::{Document, FactError};
use crate::options::Options;
use crate::source::{Source, Unreadable};

/// The facts gathered so far, and their source.
pub(crate) struct Collector<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    facts: Map<String, Value>,
    own: Map<String, Value>,
    errors: Vec<FactError>,
}

impl<'a> Collector<'a> {
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

    /// Stores an Ansible fact under its name without the prefix.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(key(name), value.into());
    }

    /// Stores a fact whose name comes from the machine, and rejects a name that is already in use.
    ///
    /// Otherwise an interface named `kernel` would replace the kernel version.
    pub(crate) fn set_dynamic(&mut self, name: &str, value: Value) {
        match self.facts.entry(key(name)) {
            serde_json::map::Entry::Vacant(place) => drop(place.insert(value)),
            serde_json::map::Entry::Occupied(_) => self.miss(name, "another fact has this name already".to_owned()),
        }
    }

    /// Returns a string fact that was stored before, or an empty string.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.facts.get(&key(name)).and_then(Value::as_str).unwrap_or_default()
    }

    /// Stores a Plumbline fact.
    pub(crate) fn own(&mut self, name: &str, value: impl Into<Value>) {
        self.own.insert(name.to_owned(), value.into());
    }

    /// Returns the value, or records an error and returns `None`.
    pub(crate) fn keep<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Ok(value) => Some(value),
            Err(reason) => {
                self.miss(fact, reason.to_string());
                None
            }
        }
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
    pub(crate) fn miss(&mut self, fact: &str, reason: String) {
        let fact = if fact.starts_with(PREFIX) { fact.to_owned() } else { key(fact) };
        self.errors.push(FactError { fact, reason });
    }
}

/// Returns the full name of an Ansible fact.
pub(super) fn key(name: &str) -> String {
    format!("ansible_{}", name.replace('-', "_"))
}

/// The prefix of error keys for Plumbline facts.
pub(crate) const PREFIX: &str = "plumbline_facts.";
