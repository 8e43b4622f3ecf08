//! The objects that were seen.

use std::collections::{BTreeMap, BTreeSet};

/// Objects of one kind by name, as a watch tells them: a list, and changes from then on. After an interruption there is another list.
#[derive(Debug)]
pub(super) struct Seen<T> {
    objects: BTreeMap<String, T>,
    /// A list was complete once: what is not here is not there.
    complete: bool,
    /// Names that the list under way has told so far.
    listed: Option<BTreeSet<String>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), complete: false, listed: None }
    }
}

impl<T> Seen<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.objects.get(name)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.objects.values()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Takes an object; returns what stood under its name.
    pub(super) fn put(&mut self, name: &str, object: T) -> Option<T> {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.to_owned());
        }
        self.objects.insert(name.to_owned(), object)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        self.objects.remove(name)
    }

    /// A list begins. What is known stays until it is complete: a list that takes long must not look like an empty cluster.
    pub(super) fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// A list is complete. Returns what it did not tell.
    pub(super) fn end_list(&mut self) -> Vec<T> {
        self.complete = true;
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<String> = self.objects.keys().filter(|&name| !listed.contains(name)).cloned().collect();
        gone.iter().filter_map(|name| self.objects.remove(name)).collect()
    }
}
