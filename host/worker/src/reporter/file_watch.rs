//! Notifies about changes in the results directory. This is only a hint, because polling finds what
//! it misses.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use linux::Inotify;

/// A watch on a directory.
pub(crate) struct FileWatch {
    directory: PathBuf,
    #[cfg(target_os = "linux")]
    inotify: Option<Inotify>,
}

impl FileWatch {
    pub(crate) fn new(directory: PathBuf) -> Self {
        let mut watch = Self {
            directory,
            #[cfg(target_os = "linux")]
            inotify: None,
        };
        watch.rearm();
        watch
    }

    /// Starts the watch if it is not running, because the directory may not have existed before.
    pub(crate) fn rearm(&mut self) {
        #[cfg(target_os = "linux")]
        if self.inotify.is_none() {
            self.inotify = Inotify::new(&self.directory)
                .inspect_err(|error| {
                    tracing::debug!("failed to watch `{}`; polling it instead: {error}", self.directory.display());
                })
                .ok();
        }
        #[cfg(not(target_os = "linux"))]
        tracing::trace!("`{}` is only looked at", self.directory.display());
    }

    /// Returns when the directory has changed. Never returns if change notification is unavailable.
    pub(crate) async fn changed(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(inotify) = &self.inotify {
            if !inotify.changed().await {
                self.inotify = None;
            }
            return;
        }
        std::future::pending().await
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;
    use tokio::io::unix::AsyncFd;

    /// Size of the read buffer in bytes, enough for many events.
    const BUFFER: usize = 4096;

    pub(super) struct Inotify(AsyncFd<OwnedFd>);

    impl Inotify {
        pub(super) fn new(directory: &Path) -> std::io::Result<Self> {
            let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
            // Volumes swap links by a rename. Everything else is a write that is in progress or
            // finished.
            let flags = WatchFlags::CLOSE_WRITE
                | WatchFlags::MODIFY
                | WatchFlags::CREATE
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::ATTRIB
                | WatchFlags::ONLYDIR;
            inotify::add_watch(&fd, directory, flags)?;
            #[expect(
                deprecated,
                reason = "its replacement wants a proof in unsafe code that the descriptor stays open: one that is owned does"
            )]
            let fd = AsyncFd::new(fd)?;
            Ok(Self(fd))
        }

        /// Waits for a change. Returns false if the directory is no longer watched.
        pub(super) async fn changed(&self) -> bool {
            loop {
                let Ok(mut ready) = self.0.readable().await else { return false };
                let (mut some, mut good) = (false, true);
                let mut buffer = [MaybeUninit::uninit(); BUFFER];
                let mut reader = Reader::new(self.0.get_ref(), &mut buffer);
                loop {
                    match reader.next() {
                        Ok(event) => {
                            some = true;
                            good &= !event.events().contains(ReadFlags::IGNORED);
                        }
                        Err(Errno::WOULDBLOCK) => break,
                        Err(Errno::INTR) => {}
                        Err(_) => return false,
                    }
                }
                ready.clear_ready();
                if !good {
                    return false;
                }
                if some {
                    return true;
                }
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::time::Duration;

    async fn heard(watch: &mut FileWatch) -> bool {
        tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.is_ok()
    }

    #[tokio::test]
    async fn writes_and_swapped_links_are_heard() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = FileWatch::new(dir.path().to_owned());
        fs::write(dir.path().join("a"), "x").unwrap();
        assert!(heard(&mut watch).await);
        std::os::unix::fs::symlink("a", dir.path().join("tmp")).unwrap();
        fs::rename(dir.path().join("tmp"), dir.path().join("..data")).unwrap();
        assert!(heard(&mut watch).await);
    }

    #[tokio::test]
    async fn a_directory_that_comes_later_is_watched_then() {
        let dir = tempfile::tempdir().unwrap();
        let later = dir.path().join("later");
        let mut watch = FileWatch::new(later.clone());
        assert!(watch.inotify.is_none());
        fs::create_dir(&later).unwrap();
        watch.rearm();
        fs::write(later.join("a"), "x").unwrap();
        assert!(heard(&mut watch).await);
        fs::remove_dir_all(&later).unwrap();
        while watch.inotify.is_some() {
            assert!(heard(&mut watch).await);
        }
    }
}
