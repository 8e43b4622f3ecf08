//! Storage of uploads. Each one is unpacked in a private directory, and then renamed.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use plumbline_archive::disk::{Disk, DiskFile, Step};
use plumbline_archive::extract::{ExtractError, ExtractLimits, Extracted, extract_tar_gz_on};
use plumbline_archive::layout;
use plumbline_archive::member::StreamError;
use plumbline_core::ledger::{Stored, StoredKind};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey};
use tokio::sync::Semaphore;

use super::budget::{Budget, OverBudget, Reservation, count_files};

/// Reason why a complete upload is not a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// The upload is not a valid gzip-compressed tar, or a malicious one.
    #[error("{0}")]
    Archive(#[from] ExtractError),
    /// This machine failed.
    #[error("failed to store it: {0}")]
    Io(#[from] io::Error),
    /// The results of the plugin or of the run would exceed a limit.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The upload does not fit on the file system, however much of it is free.
    #[error("it takes at least {needed} bytes of disk space, and the file system of the aggregator has {size}")]
    LargerThanDisk {
        /// The number of bytes that it takes at least.
        needed: u64,
        /// The size of the file system in bytes.
        size: u64,
    },
}

/// Number of files that are synced at the same time. More threads would only wait for the same disk.
const SYNCS: usize = 16;

/// The directories of a run for uploads. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) disk: Disk,
    incoming: PathBuf,
    /// The size of the file system at the start, in bytes. Some become smaller.
    size: u64,
    tree: PathBuf,
    /// Directories below the tree that this process has made durable.
    durable: Arc<Mutex<BTreeSet<PathBuf>>>,
    pub(super) limits: ExtractLimits,
    budget: Arc<Budget>,
    // Unpacking uses a core, so there is one permit per core.
    cores: Arc<Semaphore>,
    syncs: Arc<Semaphore>,
}

impl Store {
    /// Creates a store on `disk`. Uploads arrive in `incoming`, which is emptied, and results are
    /// kept below `tree` on the same file system.
    pub fn create(disk: &Disk, incoming: PathBuf, tree: PathBuf, limits: &ReceiveLimits) -> io::Result<Self> {
        disk.remove_directory(&incoming)?;
        disk.create_directories(&incoming)?;
        disk.create_directories(&tree)?;
        let budget = Arc::new(Budget::of(&tree, limits)?);
        let limits = ExtractLimits::from(limits);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let [cores, syncs] = [cores, SYNCS].map(|permits| Arc::new(Semaphore::new(permits)));
        let size = disk.size_bytes(&incoming).unwrap_or(u64::MAX);
        let durable = Arc::default();
        Ok(Self { disk: disk.clone(), incoming, size, tree, durable, limits, budget, cores, syncs })
    }

    /// Checks a body of `bytes` of `plugin` before it is received.
    ///
    /// # Errors
    /// When it would exceed a limit, or is larger than the file system. Waiting would not help.
    pub(super) fn check_size(&self, plugin: &PluginName, bytes: u64) -> Result<(), StoreError> {
        let (left, over) = self.budget.reserve(plugin).left();
        if bytes > left { Err(over.into()) } else { self.check_fits(bytes) }
    }

    /// Checks that `needed` bytes fit on the file system, whatever is in use of it.
    fn check_fits(&self, needed: u64) -> Result<(), StoreError> {
        let size = self.disk.size_bytes(&self.incoming).unwrap_or(u64::MAX).max(self.size);
        if needed > size { Err(StoreError::LargerThanDisk { needed, size }) } else { Ok(()) }
    }

    /// Checks that `bytes` fit into the free space now. It can block.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] if they do not fit, or if the space is reserved.
    pub(super) fn check_free(&self, bytes: u64) -> io::Result<()> {
        // Not every file system reports it.
        let free = self.disk.free_bytes(&self.incoming).unwrap_or(u64::MAX);
        if bytes > free {
            let text = format!("it takes at least {bytes} bytes of disk space, and {free} are free");
            return Err(io::Error::new(io::ErrorKind::StorageFull, text));
        }
        self.disk.take_space(bytes, || Ok(()))
    }

    /// Returns what limits how many bodies of this shape are converted to their final form at once.
    pub(super) fn gate(&self, shape: &Shape) -> Arc<Semaphore> {
        Arc::clone(match shape {
            Shape::File(_) => &self.syncs,
            Shape::Archive => &self.cores,
        })
    }

    /// Creates a private directory for one upload of `plugin`, which is removed when dropped.
    pub(super) fn slot(&self, plugin: &PluginName, shape: &Shape) -> io::Result<Slot> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("upload-").permissions(Permissions::from_mode(0o777));
        let create = || builder.tempdir_in(&self.incoming);
        let dir = self.disk.step(Step::CreateTemporary(&self.incoming), create)?;
        let (body, out) = match shape {
            // A single file needs no other form, so its directory becomes the result.
            Shape::File(name) => (dir.path().join(name), dir.path().to_owned()),
            Shape::Archive => (dir.path().join("body"), dir.path().join("out")),
        };
        Ok(Slot { body, out, dir, space: self.budget.reserve(plugin) })
    }

    /// Moves the upload to the result `key`. Only the upload that has claimed it may call this.
    pub(super) fn place(&self, unpacked: Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::result_dir(&key.plugin, &key.node)))
    }

    /// Stores the archive that `pack` writes as the result `key`, by the rules of an upload.
    /// Returns the number of files, without the list of files that `pack` left out.
    pub(crate) fn keep_packed<E: From<StoreError>>(
        &self,
        key: &ResultKey,
        pack: impl FnOnce(DiskFile) -> Result<(), E>,
    ) -> Result<u64, E> {
        let failed = |error: io::Error| E::from(StoreError::Io(error));
        let mut slot = self.slot(&key.plugin, &Shape::Archive).map_err(failed)?;
        pack(self.disk.create(&slot.body).map_err(failed)?)?;
        let bytes = fs::metadata(&slot.body).map_err(failed)?.len();
        slot.space.take(0, bytes).map_err(StoreError::from)?;
        let unpacked = unpack(self, slot, &Shape::Archive, String::new())?;
        let list = u64::from(unpacked.slot.out.join(layout::LEFT_OUT_FILE).is_file());
        let files = unpacked.stored.files.saturating_sub(list);
        if unpacked.stored.files > 0 {
            self.place(unpacked, key).map_err(failed)?;
        }
        Ok(files)
    }

    /// Moves the upload to the location of the partial result of `key`.
    pub(super) fn place_partial(&self, unpacked: Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::partial_dir(&key.plugin, &key.node)))
    }

    fn place_at(&self, unpacked: Unpacked, target: &Path) -> io::Result<()> {
        let Some(parent) = target.parent() else { return Err(io::Error::other("a result has no directory")) };
        self.make_durable(parent)?;
        let slot = unpacked.slot;
        // An earlier attempt was stored but not recorded.
        let earlier = slot.dir.path().with_extension("earlier");
        let _earlier = match self.disk.rename(target, &earlier) {
            Ok(()) => {
                slot.space.replace(&earlier);
                Some(Earlier(earlier))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.disk.rename(&slot.out, target)?;
        if let Err(failed) = self.disk.sync_directory(parent) {
            // The upload fails, so move its files out of the tree. If this fails too, a retry
            // replaces them.
            if let Err(error) = self.disk.rename(target, &slot.out) {
                tracing::error!("failed to remove `{}` again: {error}", target.display());
                slot.space.keep();
            }
            return Err(failed);
        }
        slot.space.keep();
        if slot.out == slot.dir.path() {
            // It has become the result.
            let _ = slot.dir.keep();
        }
        Ok(())
    }

    /// Creates a directory below the tree, unless it exists, and makes it durable. A killed process, a
    /// failed sync or another upload may have left one that is not.
    fn make_durable(&self, directory: &Path) -> io::Result<()> {
        // Other uploads into the directory wait for its sync.
        let mut durable = self.durable.lock();
        // A complete upload needs no more space, so reserved space must not stop it.
        let exists = directory.is_dir();
        if exists && durable.contains(directory) {
            return Ok(());
        }
        if !exists {
            self.disk.create_directories(directory)?;
        }
        for above in directory.ancestors().skip(1).take_while(|above| above.starts_with(&self.tree)) {
            self.disk.sync_directory(above)?;
        }
        durable.insert(directory.to_owned());
        Ok(())
    }

    /// Removes what a crashed process left below `tree` for `key` without a record in the journal. It
    /// was never acknowledged, so the worker sends it again. Call it before [`Store::create`], which
    /// counts what is there.
    pub(crate) fn discard(disk: &Disk, tree: &Path, key: &ResultKey) -> io::Result<()> {
        disk.remove_directory(&tree.join(layout::result_dir(&key.plugin, &key.node)))?;
        disk.remove_directory(&tree.join(layout::errors_dir(&key.plugin, &key.node)))
    }
}

/// Final form of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// One file with this name.
    File(String),
    /// A gzip-compressed tar, to be unpacked.
    Archive,
}

/// The files of an earlier attempt, removed on drop, or by the next start of the run.
struct Earlier(PathBuf);

impl Drop for Earlier {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The private directory of an upload.
pub(super) struct Slot {
    pub(super) body: PathBuf,
    /// The directory that becomes the result.
    out: PathBuf,
    dir: tempfile::TempDir,
    /// Space of the files. Declared after the directory, whose files are removed first.
    pub(super) space: Reservation,
}

/// A complete upload in its slot, durable on disk.
pub(super) struct Unpacked {
    slot: Slot,
    pub(super) stored: Stored,
}

/// Converts the body in `slot` to its final form inside the slot, and syncs it.
pub(super) fn unpack(store: &Store, mut slot: Slot, shape: &Shape, sha256: String) -> Result<Unpacked, StoreError> {
    let disk = &store.disk;
    let bytes = fs::metadata(&slot.body)?.len();
    let (kind, files) = match shape {
        Shape::File(_) => {
            slot.space.take(1, 0)?;
            disk.step(Step::Sync(&slot.body), || File::open(&slot.body)?.sync_all())?;
            (StoredKind::File, 1)
        }
        Shape::Archive => {
            disk.step(Step::CreateDirectory(&slot.out), || fs::create_dir(&slot.out))?;
            let extracted = extract(store, &mut slot, bytes)?;
            for skipped in &extracted.skipped {
                tracing::warn!(member = %skipped.member, "not unpacked: {}", skipped.why);
            }
            list_lost(disk, &mut slot, &extracted)?;
            // One call for all files, because a sync per file would take longer than the upload.
            disk.step(Step::SyncTree(&slot.out), || Ok(rustix::fs::syncfs(File::open(&slot.out)?)?))?;
            disk.remove_file(&slot.body)?;
            slot.space.give_back(bytes);
            (StoredKind::Archive, count_files(&slot.out)?)
        }
    };
    disk.sync_directory(&slot.out)?;
    Ok(Unpacked { slot, stored: Stored { kind, files, bytes, sha256 } })
}

/// Writes the list of what the result lost, for post-processing, unless the worker sent one.
fn list_lost(disk: &Disk, slot: &mut Slot, extracted: &Extracted) -> Result<(), StoreError> {
    let list = slot.out.join(layout::LEFT_OUT_FILE);
    if (extracted.lost_total == 0 && extracted.trailing == 0) || list.exists() {
        return Ok(());
    }
    let mut lost: Vec<String> = extracted.lost.iter().take(LISTED).map(ToString::to_string).collect();
    let more = extracted.lost_total.saturating_sub(lost.len() as u64);
    if more > 0 {
        lost.push(format!("and {more} more"));
    }
    if extracted.trailing > 0 {
        lost.push(format!("{} bytes after the end of the archive", extracted.trailing));
    }
    let text = format!("not in the results: {}\n", lost.join(", "));
    slot.space.take(1, text.len() as u64)?;
    disk.take_space(text.len() as u64, || fs::write(&list, text))?;
    Ok(())
}

/// Unpacks a body of `body` bytes within the limits of `store` and the remaining budget.
fn extract(store: &Store, slot: &mut Slot, body: u64) -> Result<Extracted, StoreError> {
    let limits = &store.limits;
    let (left, over) = slot.space.left();
    let within = ExtractLimits { unpacked_bytes: limits.unpacked_bytes.min(left), ..limits.clone() };
    match extract_tar_gz_on(&store.disk, File::open(&slot.body)?, &slot.out, &within) {
        Ok(extracted) => {
            slot.space.take(extracted.entries, extracted.bytes)?;
            Ok(extracted)
        }
        Err(ExtractError::Stream(StreamError::TooManyBytes(_))) if left < limits.unpacked_bytes => Err(over.into()),
        Err(full @ ExtractError::NoSpace { entries, bytes, .. }) => {
            // An upload that exceeds a limit or the whole file system is rejected for good.
            slot.space.take(entries, bytes)?;
            store.check_fits(body.saturating_add(bytes))?;
            Err(full.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The maximum number of lost members that a list names.
const LISTED: usize = 10;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use plumbline_archive::disk::{Faults, SpaceGuard};

    use super::*;

    /// A file system of 50,000 bytes, of which this many are free.
    struct Small(Mutex<u64>);

    impl Faults for Small {
        fn step(&self, _: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            act()
        }

        fn size_bytes(&self) -> u64 {
            50_000
        }
    }

    impl SpaceGuard for Small {
        fn take(&self, bytes: u64, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            let mut free = self.0.lock().unwrap();
            *free = free.checked_sub(bytes).ok_or(io::ErrorKind::StorageFull)?;
            act()
        }
    }

    /// Unpacks an archive with files of these sizes onto a small file system. Returns the error.
    fn unpack_small(sizes: &[usize], limits: &ReceiveLimits) -> Option<StoreError> {
        let dir = tempfile::tempdir().unwrap();
        let small = Arc::new(Small(Mutex::new(40_000)));
        let disk = Disk::faulty(small.clone()).guarded(small);
        let store = Store::create(&disk, dir.path().join("incoming"), dir.path().join("tree"), limits).unwrap();
        let slot = store.slot(&"p".parse().unwrap(), &Shape::Archive).unwrap();
        let mut tar = tar::Builder::new(GzEncoder::new(File::create(&slot.body).unwrap(), Compression::fast()));
        for (number, size) in sizes.iter().enumerate() {
            let mut header = tar::Header::new_ustar();
            header.set_size(*size as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, format!("{number}"), &*vec![0_u8; *size]).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        unpack(&store, slot, &Shape::Archive, String::new()).err()
    }

    #[test]
    fn only_an_archive_that_can_fit_waits_for_space() {
        let (limits, few) = (ReceiveLimits::default(), ReceiveLimits { run_entries: 2, ..ReceiveLimits::default() });
        assert!(unpack_small(&[100], &limits).is_none());
        let never = unpack_small(&[60_000], &limits);
        assert!(matches!(never, Some(StoreError::LargerThanDisk { size: 50_000, .. })), "{never:?}");
        let later = unpack_small(&[30_000, 0, 0], &limits);
        assert!(matches!(later, Some(StoreError::Archive(ExtractError::NoSpace { bytes: 30_000, .. }))), "{later:?}");
        let above = unpack_small(&[30_000, 0, 0], &few);
        assert!(matches!(above, Some(StoreError::OverBudget(OverBudget::RunEntries(2)))), "{above:?}");
    }

    /// A disk that counts syncs of the directory of plugin `p`, of which the first one fails.
    #[derive(Default)]
    struct FailsOnce(AtomicUsize);

    impl Faults for FailsOnce {
        fn step(&self, step: Step<'_>, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
            let counts = matches!(step, Step::SyncDirectory(path) if path.ends_with("plugins/p"));
            if counts && self.0.fetch_add(1, Ordering::Relaxed) == 0 {
                return Err(io::Error::from_raw_os_error(5));
            }
            act()
        }
    }

    #[test]
    fn a_result_is_stored_only_in_a_directory_that_is_durable() {
        let (dir, faults) = (tempfile::tempdir().unwrap(), Arc::new(FailsOnce::default()));
        let (incoming, tree) = (dir.path().join("incoming"), dir.path().join("tree"));
        let store = Store::create(&Disk::faulty(faults.clone()), incoming, tree, &ReceiveLimits::default()).unwrap();
        let shape = Shape::File("a.txt".to_owned());
        let place = |key: &str| {
            let key: ResultKey = key.parse().unwrap();
            let slot = store.slot(&key.plugin, &shape).unwrap();
            fs::write(&slot.body, "a").unwrap();
            store.place(unpack(&store, slot, &shape, String::new()).unwrap(), &key)
        };
        assert!(place("p/n1").is_err());
        // A power failure could lose it with all results in it.
        assert!(dir.path().join("tree/plugins/p/results").is_dir());
        place("p/n1").unwrap();
        assert_eq!(faults.0.load(Ordering::Relaxed), 2);
        place("p/n2").unwrap();
        assert_eq!(faults.0.load(Ordering::Relaxed), 2, "once is enough");
    }

    #[test]
    fn a_replaced_partial_result_gives_its_space_back() {
        let dir = tempfile::tempdir().unwrap();
        let limits = ReceiveLimits { plugin_bytes: 10_000, run_entries: 2, ..ReceiveLimits::default() };
        let (incoming, tree) = (dir.path().join("incoming"), dir.path().join("tree"));
        let store = Store::create(&Disk::default(), incoming, tree, &limits).unwrap();
        let key: ResultKey = "p/n1".parse().unwrap();
        let shape = Shape::File("a.txt".to_owned());
        for _ in 0..4 {
            let mut slot = store.slot(&key.plugin, &shape).unwrap();
            fs::write(&slot.body, [b'x'; 4_000]).unwrap();
            slot.space.take(0, 4_000).unwrap();
            let unpacked = unpack(&store, slot, &shape, String::new()).unwrap();
            store.place_partial(unpacked, &key).unwrap();
        }
        assert_eq!(fs::read_dir(dir.path().join("incoming")).unwrap().count(), 0, "nothing is left behind");
        let mut slot = store.slot(&key.plugin, &shape).unwrap();
        assert!(slot.space.take(1, 6_001).is_err(), "the last one still counts");
        slot.space.take(1, 6_000).unwrap();
    }
}
