//! A file tree for tests.

use std::path::Path;

/// A temporary directory that is removed when dropped.
pub(crate) struct Tree(tempfile::TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, and creates the directories above it.
    pub(crate) fn file(&self, path: &str, content: &str) {
        let place = self.root().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    /// Makes a symbolic link, and creates the directories above it.
    pub(crate) fn link(&self, path: &str, target: &str) {
        let place = self.root().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, place).unwrap();
    }

    /// Sets the permissions of a file.
    pub(crate) fn mode(&self, path: &str, mode: u32) {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(self.root().join(path.trim_start_matches('/')), permissions).unwrap();
    }

    /// Makes a directory.
    pub(crate) fn directory(&self, path: &str) {
        std::fs::create_dir_all(self.root().join(path.trim_start_matches('/'))).unwrap();
    }
}
