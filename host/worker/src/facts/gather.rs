//! Goes through all facts once.

use std::path::Path;

use super::data::{FactError, Facts};
use super::source::{Source, Unreadable};
use super::{cgroup, hardware, memory, mounts, network, os, virtualization};

/// Finds out what can be found out about the machine whose file tree begins at `root`: `/` for this one.
///
/// Never fails: what cannot be read is left out of [`Facts::host`] and named in [`Facts::errors`]. Reads files and nothing else; the
/// one exception is the machine's architecture, which kernels before 6.1 tell through a system call only.
#[must_use]
pub fn gather(root: &Path) -> Facts {
    let source = Source::new(root);
    let mut gathering = Gathering { source: &source, facts: Facts::default() };
    os::gather(&mut gathering);
    hardware::gather(&mut gathering);
    memory::gather(&mut gathering);
    mounts::gather(&mut gathering);
    network::gather(&mut gathering);
    cgroup::gather(&mut gathering);
    virtualization::gather(&mut gathering);
    gathering.facts
}

/// The facts so far, and where more come from.
pub(super) struct Gathering<'a> {
    pub(super) source: &'a Source,
    pub(super) facts: Facts,
}

impl Gathering<'_> {
    /// The value, or nothing and an entry among the errors.
    pub(super) fn keep<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Ok(value) => Some(value),
            Err(reason) => {
                self.miss(fact, reason.to_string());
                None
            }
        }
    }

    /// Like [`Gathering::keep`], for facts whose file is absent where the machine has no such thing: that is no error.
    pub(super) fn keep_if_there<T>(&mut self, fact: &str, found: Result<T, Unreadable>) -> Option<T> {
        match found {
            Err(reason) if reason.is_missing() => None,
            other => self.keep(fact, other),
        }
    }

    /// Says why `fact`, or a part of it, is missing.
    pub(super) fn miss(&mut self, fact: &str, reason: String) {
        self.facts.errors.push(FactError { fact: fact.to_owned(), reason });
    }
}
