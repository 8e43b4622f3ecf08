//! The history of changes to objects, for watches.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

/// Number of changes to keep, from which watches can start. A test that makes more sees the
/// behavior of a real server: old versions expire.
const KEPT: usize = 100_000;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    /// The ID of the resource ([`crate::resources::Resource::id`]).
    pub(crate) resource: Arc<str>,
    /// The object before the change; `None` if it is new.
    pub(crate) before: Option<Arc<Value>>,
    /// The object after the change. For a deleted object, its last state.
    pub(crate) after: Arc<Value>,
    pub(crate) gone: bool,
}

/// The latest changes, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    changes: VecDeque<Change>,
    /// The oldest version from which a watch can start.
    oldest: u64,
}

impl Changes {
    pub(crate) fn push(&mut self, change: Change) {
        if self.changes.len() == KEPT
            && let Some(forgotten) = self.changes.pop_front()
        {
            self.oldest = forgotten.version;
        }
        self.changes.push_back(change);
    }

    /// Forgets everything up to and including a version.
    pub(crate) fn forget(&mut self, version: u64) {
        self.changes.clear();
        self.oldest = version;
    }

    /// Returns whether changes since that version may have been forgotten.
    pub(crate) fn is_too_old(&self, version: u64) -> bool {
        version < self.oldest
    }

    /// Returns every change after a version.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        let start = self.changes.partition_point(|change| change.version <= version);
        self.changes.range(start..)
    }
}
