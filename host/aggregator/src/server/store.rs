//! Where uploads land: a private directory each, checked and unpacked there, then renamed into place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumbline_archive::disk::{Disk, Step};
use plumbline_archive::extract::{ExtractError, ExtractLimits, extract_tar_gz};
use plumbline_archive::layout;
use plumbline_core::ledger::{Stored, StoredKind};
use plumbline_core::{ReceiveLimits, ResultKey};
use tokio::sync::Semaphore;

/// Why an upload that arrived whole is not a result.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// It is no gzip-compressed tar, or a hostile one.
    #[error("{0}")]
    Archive(#[from] ExtractError),
    /// This machine failed.
    #[error("failed to store it: {0}")]
    Io(#[from] io::Error),
    /// The results of the run are as many as they may be.
    #[error("with this result, the run would have more than {0} files and directories (limit `run-entries`)")]
    RunFull(u64),
}

/// The directories of a run that uploads pass through. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) disk: Disk,
    incoming: PathBuf,
    tree: PathBuf,
    limits: ExtractLimits,
    entries: Arc<Entries>,
    // Unpacking is work for a core, not for a connection: as many at once as there are cores, however many uploads end together.
    cores: Arc<Semaphore>,
}

impl Store {
    /// Creates a store on `disk` that receives uploads in `incoming` and keeps results below `tree`, in the layout of the archive.
    /// Both directories must be on one file system. `incoming` is emptied: a crash interrupted the uploads in it.
    ///
    /// # Errors
    /// When the directories cannot be created or emptied.
    pub fn create(disk: &Disk, incoming: PathBuf, tree: PathBuf, limits: &ReceiveLimits) -> io::Result<Self> {
        disk.remove_directory(&incoming)?;
        disk.create_directories(&incoming)?;
        disk.create_directories(&tree)?;
        let entries = Arc::new(Entries { used: AtomicU64::new(count(&tree)?), limit: limits.run_entries });
        let limits = ExtractLimits::from(limits);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { disk: disk.clone(), incoming, tree, limits, entries, cores: Arc::new(Semaphore::new(cores)) })
    }

    /// A new private directory for one upload; it goes away with the value.
    pub(super) fn slot(&self) -> io::Result<Slot> {
        let create = || tempfile::Builder::new().prefix("upload-").tempdir_in(&self.incoming);
        let dir = self.disk.step(Step::CreateTemporary(&self.incoming), create)?;
        Ok(Slot { body: dir.path().join("body"), out: dir.path().join("out"), dir })
    }

    /// Turns the body in `slot` into what it is to become, inside the slot: one file of that name, or the files of the archive, all of
    /// them synced. Nothing else is touched, so the caller may lose interest at any time.
    pub(super) async fn unpack(&self, slot: Slot, shape: Shape, sha256: String) -> Result<Unpacked, StoreError> {
        let permit = Arc::clone(&self.cores).acquire_owned().await.map_err(io::Error::other)?;
        let (disk, limits, entries) = (self.disk.clone(), self.limits.clone(), Arc::clone(&self.entries));
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            unpack(&disk, slot, shape, &limits, &entries, sha256)
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Moves it into the place of the result of `key`. Only the upload that has claimed this result may call it.
    pub(super) fn place(&self, unpacked: &Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::result_dir(&key.plugin, &key.node)))
    }

    /// Moves it into the place for what the plugin had when its time was up.
    pub(super) fn place_partial(&self, unpacked: &Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::partial_dir(&key.plugin, &key.node)))
    }

    fn place_at(&self, unpacked: &Unpacked, target: &Path) -> io::Result<()> {
        let Some(parent) = target.parent() else { return Err(io::Error::other("a result has no directory")) };
        self.disk.create_directories(parent)?;
        let slot = &unpacked.slot;
        // An earlier attempt that was stored but never recorded.
        match self.disk.rename(target, &slot.dir.path().join("earlier")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.disk.rename(&slot.out, target)?;
        self.disk.sync_directory(parent).inspect_err(|_| {
            // The upload fails, so its files leave the tree. Should this fail too, a retry replaces them.
            if let Err(error) = self.disk.rename(target, &slot.out) {
                tracing::error!("failed to take back `{}`: {error}", target.display());
            }
        })?;
        unpacked.share.keep();
        Ok(())
    }

    /// Removes the result of `key`, which was stored but not recorded before the aggregator ended. No worker got an
    /// acknowledgement for it, so its worker sends it again.
    pub(crate) fn discard(&self, key: &ResultKey) -> io::Result<()> {
        self.disk.remove_directory(&self.tree.join(layout::result_dir(&key.plugin, &key.node)))
    }
}

/// What a body is to become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// One file of this name.
    File(String),
    /// A gzip-compressed tar, unpacked.
    Archive,
}

/// The private directory of an upload under way.
pub(super) struct Slot {
    pub(super) body: PathBuf,
    out: PathBuf,
    dir: tempfile::TempDir,
}

/// How many files and directories the results of a run have together.
struct Entries {
    used: AtomicU64,
    limit: u64,
}

impl Entries {
    /// Takes `count` more, unless that is more than the limit.
    fn take(self: &Arc<Self>, count: u64) -> Result<Share, StoreError> {
        let add = |used: u64| used.checked_add(count).filter(|sum| *sum <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map_err(|_| StoreError::RunFull(self.limit))?;
        Ok(Share { entries: Arc::clone(self), count: AtomicU64::new(count) })
    }
}

/// The part of [`Entries`] that one upload takes. It is given back unless the upload becomes a result.
struct Share {
    entries: Arc<Entries>,
    count: AtomicU64,
}

impl Share {
    fn keep(&self) {
        self.count.store(0, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.entries.used.fetch_sub(*self.count.get_mut(), Ordering::Relaxed);
    }
}

/// Files and directories below `dir`.
fn count(dir: &Path) -> io::Result<u64> {
    let mut count = 0;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            count += 1;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(count)
}

/// An upload that is whole, in its slot, and safe on disk there.
pub(super) struct Unpacked {
    slot: Slot,
    share: Share,
    pub(super) stored: Stored,
}

fn unpack(
    disk: &Disk,
    slot: Slot,
    shape: Shape,
    limits: &ExtractLimits,
    entries: &Arc<Entries>,
    sha256: String,
) -> Result<Unpacked, StoreError> {
    let bytes = fs::metadata(&slot.body)?.len();
    disk.step(Step::CreateDirectory(&slot.out), || fs::create_dir(&slot.out))?;
    let (kind, files, count) = match shape {
        Shape::File(name) => {
            disk.step(Step::Sync(&slot.body), || File::open(&slot.body)?.sync_all())?;
            disk.rename(&slot.body, &slot.out.join(name))?;
            (StoredKind::File, 1, 1)
        }
        Shape::Archive => {
            let extracted = extract_tar_gz(File::open(&slot.body)?, &slot.out, limits)?;
            for skipped in &extracted.skipped {
                tracing::warn!(member = %skipped.member, "not unpacked: {}", skipped.why);
            }
            // One call for all of them: a sync per file would take longer than the upload.
            disk.step(Step::SyncTree(&slot.out), || Ok(rustix::fs::syncfs(File::open(&slot.out)?)?))?;
            (StoredKind::Archive, extracted.files, extracted.entries)
        }
    };
    let share = entries.take(count)?;
    disk.sync_directory(&slot.out)?;
    Ok(Unpacked { slot, share, stored: Stored { kind, files, bytes, sha256 } })
}
