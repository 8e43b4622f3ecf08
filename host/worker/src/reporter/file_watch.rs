//! Notifies about changes in the results directory. This is only a hint, because polling finds what
//! it misses.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// A watch on a directory.
pub(crate) struct FileWatch {
    directory: PathBuf,
    watcher: Option<RecommendedWatcher>,
    changed: Arc<Notify>,
    /// Whether the directory was removed, which ended the watch.
    removed: Arc<AtomicBool>,
}

impl FileWatch {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let mut watch = Self { directory, watcher: None, changed: Arc::default(), removed: Arc::default() };
        watch.rearm();
        watch
    }

    /// Starts the watch if it is not running, because the directory may not have existed before.
    pub(crate) fn rearm(&mut self) {
        if self.watcher.is_some() && !self.removed.swap(false, Ordering::Relaxed) {
            return;
        }
        let (directory, changed, removed) = (self.directory.clone(), self.changed.clone(), self.removed.clone());
        let on_event = move |event: notify::Result<notify::Event>| {
            if let Ok(event) = event {
                // The reporter's own reads are accesses, too.
                let is_write = matches!(event.kind, EventKind::Access(AccessKind::Close(AccessMode::Write)));
                if event.kind.is_access() && !is_write {
                    return;
                }
                if event.kind.is_remove() && event.paths.contains(&directory) {
                    removed.store(true, Ordering::Relaxed);
                }
            }
            changed.notify_one();
        };
        let watcher = notify::recommended_watcher(on_event).and_then(|mut watcher| {
            watcher.watch(&self.directory, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        self.watcher = watcher
            .inspect_err(|error| {
                tracing::debug!("failed to watch `{}`; polling it instead: {error}", self.directory.display());
            })
            .ok();
    }

    /// Returns when the directory has changed. Never returns if change notification is unavailable.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    async fn heard(watch: &FileWatch) -> bool {
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.is_ok()
    }

    #[tokio::test]
    async fn writes_and_swapped_links_are_heard() {
        let dir = tempfile::tempdir().unwrap();
        let watch = FileWatch::new(dir.path().to_owned());
        fs::write(dir.path().join("a"), "x").unwrap();
        assert!(heard(&watch).await);
        std::os::unix::fs::symlink("a", dir.path().join("tmp")).unwrap();
        fs::rename(dir.path().join("tmp"), dir.path().join("..data")).unwrap();
        assert!(heard(&watch).await);
    }

    #[tokio::test]
    async fn a_directory_that_comes_later_is_watched_then() {
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("later");
        let mut watch = FileWatch::new(later.clone());
        assert!(watch.watcher.is_none());
        fs::create_dir(&later).unwrap();
        watch.rearm();
        fs::write(later.join("a"), "x").unwrap();
        assert!(heard(&watch).await);
        fs::remove_dir_all(&later).unwrap();
        while watch.watcher.is_some() {
            assert!(heard(&watch).await);
            watch.rearm();
        }
    }
}
