//! The objects seen in the cluster.

use std::collections::{BTreeMap, BTreeSet};

/// Objects of one kind by name, as a watch reports them: a list, and changes from then on. After an
/// interruption there is another list.
#[derive(Debug)]
pub(super) struct Seen<T> {
    objects: BTreeMap<String, T>,
    /// Whether a list was ever complete. Then an object that is not here does not exist.
    complete: bool,
    /// The names seen so far in the current list.
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

    /// Stores an object, and returns the previous one of that name.
    pub(super) fn put(&mut self, name: &str, object: T) -> Option<T> {
        if let Some(listed) = &mut self.listed {
            listed.insert(name.to_owned());
        }
        self.objects.insert(name.to_owned(), object)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        self.objects.remove(name)
    }

    /// Starts a list. Known objects stay until the list is complete, so that a slow list does not
    /// look like an empty cluster.
    pub(super) fn begin_list(&mut self) {
        self.listed = Some(BTreeSet::new());
    }

    /// Completes a list, and returns the objects that it did not contain.
    pub(super) fn end_list(&mut self) -> Vec<T> {
        self.complete = true;
        let Some(listed) = self.listed.take() else { return Vec::new() };
        let gone: Vec<String> = self.objects.keys().filter(|&name| !listed.contains(name)).cloned().collect();
        gone.iter().filter_map(|name| self.objects.remove(name)).collect()
    }
}
