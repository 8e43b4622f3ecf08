//! What happened to objects, for those who watch.

use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

/// Changes that are kept for watches to start from; a test that makes more sees what a real server shows then: old versions are too old.
const KEPT: usize = 100_000;

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) version: u64,
    /// [`crate::resources::Resource::id`].
    pub(crate) resource: Arc<str>,
    /// What was there before: none for a new object.
    pub(crate) before: Option<Arc<Value>>,
    /// What is there now. For an object that is gone, its last state.
    pub(crate) after: Arc<Value>,
    pub(crate) gone: bool,
}

/// The latest changes, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    changes: VecDeque<Change>,
    /// Who wants changes since an older version is refused.
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

    /// Whether something since that version may have been forgotten.
    pub(crate) fn is_too_old(&self, version: u64) -> bool {
        version < self.oldest
    }

    /// Every change after a version.
    pub(crate) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        let start = self.changes.partition_point(|change| change.version <= version);
        self.changes.range(start..)
    }
}
