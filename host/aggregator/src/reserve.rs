//! Disk space that a run keeps for its end: a file that is removed when the disk is full.
//!
//! The journal, error documents, post-processing and the archive release it. Uploads do not: they
//! are rejected while the disk is full, and workers retry them. While the reserve is released, or
//! smaller than it should be, uploads leave the missing part of it free ([`Reserve::upload_disk`]).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::RwLock;
use plumbline_archive::atomic::parent_directory;
use plumbline_archive::disk::{Disk, SpaceGuard, Step};
use plumbline_core::limits::{DISK_RESERVE, DISK_RESERVE_SHARE};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Minimum size of a reserve that is written where it cannot be allocated, in bytes.
const LEAST_WRITTEN: u64 = 1 << 20;

/// The reserve of a run. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Reserve(Arc<Shared>);

struct Shared {
    disk: Disk,
    path: PathBuf,
    /// Locked for writing while the file changes, and for reading while an upload takes space.
    space: RwLock<Space>,
}

#[derive(Default)]
struct Space {
    /// The size of the file in bytes.
    held: u64,
    /// The size that the file should have, in bytes. It grows with the free space.
    wanted: u64,
    /// The number of [`Released`] values.
    users: usize,
}

impl Reserve {
    /// Creates the file `path`, or keeps one that is large enough. A failure is only logged,
    /// because the run then waits for space.
    pub(crate) fn create(disk: &Disk, path: PathBuf) -> Self {
        let earlier = fs::metadata(&path).map_or(0, |metadata| metadata.len());
        let shared = Shared { disk: disk.clone(), path, space: RwLock::default() };
        let wanted = target_size(shared.free().saturating_add(earlier), earlier);
        let held = if earlier < wanted { shared.allocate(wanted) } else { earlier };
        *shared.space.write() = Space { held, wanted, users: 0 };
        Self(Arc::new(shared))
    }

    /// Removes the file, because the disk is full, until the last [`Released`] is dropped.
    pub(crate) fn release(&self) -> Released {
        let mut space = self.0.space.write();
        if let Err(error) = self.0.disk.remove_file(&self.0.path) {
            tracing::warn!("failed to release reserved disk space: {error}");
        }
        space.held = 0;
        space.users += 1;
        drop(space);
        Released(Arc::clone(&self.0))
    }

    /// Returns the disk for uploads, which never get reserved space.
    pub(crate) fn upload_disk(&self) -> Disk {
        self.0.disk.guarded(self.0.clone())
    }
}

impl Shared {
    /// Returns the number of free bytes. Not every file system reports it.
    fn free(&self) -> u64 {
        self.disk.free_bytes(parent_directory(&self.path)).unwrap_or(u64::MAX)
    }

    /// Creates the file with this size. Returns its size, which is 0 if that failed.
    fn allocate(&self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let create = || {
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(&self.path)?;
            allocate(&file, bytes)
        };
        if let Err(error) = self.disk.step(Step::Create(&self.path), create) {
            tracing::debug!("failed to reserve disk space: {error}");
            // A part of the file is useless. If it stays, the next release removes it.
            let _ = self.disk.remove_file(&self.path);
            return 0;
        }
        bytes
    }
}

impl SpaceGuard for Shared {
    fn take(&self, bytes: u64, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        // Held until `act` has ended, so that it never takes space that was just released.
        let space = self.space.read();
        if space.held >= DISK_RESERVE {
            return act();
        }
        drop(space);
        let mut space = self.space.write();
        let free = self.free();
        space.wanted = target_size(free.saturating_add(space.held), space.wanted);
        let missing = space.wanted.saturating_sub(space.held);
        if missing > 0 && free < missing.saturating_add(bytes) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the free disk space is reserved"));
        }
        act()
    }
}

/// Returns the size of a reserve in bytes: a share of the free space, but not less than `earlier`,
/// so that restarts on a full disk do not shrink it.
fn target_size(free: u64, earlier: u64) -> u64 {
    DISK_RESERVE.min((free / DISK_RESERVE_SHARE).max(earlier))
}

fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if bytes >= LEAST_WRITTEN => {
            let mut output = file;
            io::copy(&mut io::repeat(0).take(bytes), &mut output)?;
            file.sync_all()
        }
        allocated => Ok(allocated?),
    }
}

/// Keeps the reserve released. The last one to be dropped creates the file again, which can block.
pub(crate) struct Released(Arc<Shared>);

impl Drop for Released {
    fn drop(&mut self) {
        let mut space = self.0.space.write();
        space.users = space.users.saturating_sub(1);
        if space.users == 0 {
            let free = self.0.free();
            space.wanted = target_size(free, space.wanted);
            space.held = self.0.allocate(space.wanted.min(free - free / DISK_RESERVE_SHARE));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use plumbline_archive::disk::Faults;

    use super::*;

    /// A disk that works, with this many free bytes.
    struct Free(AtomicU64);

    impl Faults for Free {
        fn step(&self, _: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            act()
        }

        fn free_bytes(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn size(path: &Path) -> Option<u64> {
        fs::metadata(path).ok().map(|metadata| metadata.len())
    }

    #[test]
    fn the_reserve_is_a_share_of_the_free_space_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        for (free, bytes) in [(u64::MAX, Some(16 << 20)), (32 << 20, Some(2 << 20)), (0, None)] {
            let path = dir.path().join(format!("reserve-{free}"));
            let disk = Disk::faulty(Arc::new(Free(AtomicU64::new(free))));
            let _reserve = Reserve::create(&disk, path.clone());
            assert_eq!(size(&path), bytes, "{free} bytes are free");
        }
    }

    #[test]
    fn a_released_reserve_returns_when_the_last_user_ends() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reserve");
        let free = Arc::new(Free(AtomicU64::new(32 << 20)));
        let reserve = Reserve::create(&Disk::faulty(free.clone()), path.clone());
        assert_eq!(size(&path), Some(2 << 20));

        let first = reserve.release();
        assert_eq!(size(&path), None, "the space is free");
        let second = reserve.clone().release();
        drop(first);
        assert_eq!(size(&path), None, "somebody still needs it");
        free.0.store(1 << 20, Ordering::Relaxed);
        drop(second);
        assert_eq!(size(&path), Some((1 << 20) - (1 << 16)), "a part of the space stays free");

        free.0.store(32 << 20, Ordering::Relaxed);
        drop(reserve.release());
        assert_eq!(size(&path), Some(2 << 20), "it has its first size again");

        free.0.store(1 << 30, Ordering::Relaxed);
        drop(reserve.release());
        assert_eq!(size(&path), Some(16 << 20), "more space is free than at the start");
    }

    #[test]
    fn uploads_leave_the_space_of_a_reserve_that_is_not_whole() {
        let dir = tempfile::tempdir().unwrap();
        let free = Arc::new(Free(AtomicU64::new(32 << 20)));
        let reserve = Reserve::create(&Disk::faulty(free.clone()), dir.path().join("reserve"));
        let uploads = reserve.upload_disk();
        let mut number = 0;
        let mut upload = |bytes| {
            free.0.store(bytes, Ordering::Relaxed);
            number += 1;
            uploads.create(&dir.path().join(format!("body-{number}"))).map(drop)
        };
        let (reserved, block) = (2 << 20, 4 << 10);
        upload(0).unwrap();

        let released = reserve.release();
        let refused = upload(reserved).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull, "the free space is that of the reserve");
        upload(reserved + block).unwrap();

        free.0.store(1 << 20, Ordering::Relaxed);
        drop(released);
        let missing = (1 << 20) + (1 << 16);
        assert!(upload(missing).is_err(), "the reserve is smaller than before");
        upload(missing + block).unwrap();
        assert!(upload(0).is_err());
    }

    #[test]
    fn a_reserve_that_was_released_at_a_crash_grows_with_the_free_space() {
        let dir = tempfile::tempdir().unwrap();
        let free = Arc::new(Free(AtomicU64::new(16 << 10)));
        let reserve = Reserve::create(&Disk::faulty(free.clone()), dir.path().join("reserve"));
        let uploads = reserve.upload_disk();
        let body = |number: u32| uploads.create(&dir.path().join(format!("body-{number}"))).map(drop);
        body(1).unwrap();
        free.0.store(1 << 30, Ordering::Relaxed);
        body(2).unwrap();
        free.0.store(15 << 20, Ordering::Relaxed);
        assert!(body(3).is_err(), "uploads leave 16 MiB free");
    }

    #[test]
    fn a_restart_on_a_full_disk_keeps_the_reserve() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("reserve");
        let free = Arc::new(Free(AtomicU64::new(0)));
        let disk = Disk::faulty(free.clone());
        let earlier = vec![7_u8; 1 << 20];
        fs::write(&path, &earlier).unwrap();
        let _first = Reserve::create(&disk, path.clone());
        let _second = Reserve::create(&disk, path.clone());
        assert!(fs::read(&path).unwrap() == earlier, "it is the same file");

        free.0.store(31 << 20, Ordering::Relaxed);
        let _third = Reserve::create(&disk, path.clone());
        assert_eq!(size(&path), Some(2 << 20), "it grows when there is space");
    }
}
