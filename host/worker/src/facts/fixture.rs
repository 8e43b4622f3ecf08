//! A file tree for tests.

use std::path::Path;

/// A directory that is removed when dropped.
pub(super) struct Tree(tempfile::TempDir);

impl Tree {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and the directories above it.
    pub(super) fn file(&self, path: &str, content: &str) {
        let place = self.root().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }
}
