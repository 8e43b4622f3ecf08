//! Storage of uploads. Each one is checked and unpacked in a private directory, and then renamed to
//! its final location.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_archive::disk::{Disk, Step};
use plumbline_archive::extract::{ExtractError, ExtractLimits, Extracted, extract_tar_gz};
use plumbline_archive::layout;
use plumbline_archive::member::StreamError;
use plumbline_core::ledger::{Stored, StoredKind};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey};
use tokio::sync::Semaphore;

use super::budget::{Budget, OverBudget, Share};

/// Reason why a complete upload is not a result.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    /// The upload is not a valid gzip-compressed tar, or a malicious one.
    #[error("{0}")]
    Archive(#[from] ExtractError),
    /// This machine failed.
    #[error("failed to store it: {0}")]
    Io(#[from] io::Error),
    /// The results of the plugin or of the run would exceed a limit.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
}

/// The directories of a run for uploads. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) disk: Disk,
    incoming: PathBuf,
    tree: PathBuf,
    limits: ExtractLimits,
    budget: Budget,
    // Unpacking uses a core. The number of concurrent jobs is limited to the number of cores,
    // however many uploads complete at the same time.
    cores: Arc<Semaphore>,
}

impl Store {
    /// Creates a store on `disk` that receives uploads in `incoming` and keeps results below
    /// `tree`, in the layout of the archive. Both directories must be on the same file system.
    /// `incoming` is emptied, because a crash interrupted the uploads in it.
    ///
    /// # Errors
    /// When the directories cannot be created or emptied.
    pub fn create(disk: &Disk, incoming: PathBuf, tree: PathBuf, limits: &ReceiveLimits) -> io::Result<Self> {
        disk.remove_directory(&incoming)?;
        disk.create_directories(&incoming)?;
        disk.create_directories(&tree)?;
        let budget = Budget::of(&tree, limits)?;
        let limits = ExtractLimits::from(limits);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { disk: disk.clone(), incoming, tree, limits, budget, cores: Arc::new(Semaphore::new(cores)) })
    }

    /// Creates a private directory for one upload of `plugin`. It is removed when the value is
    /// dropped.
    pub(super) fn slot(&self, plugin: &PluginName) -> io::Result<Slot> {
        let create = || tempfile::Builder::new().prefix("upload-").tempdir_in(&self.incoming);
        let dir = self.disk.step(Step::CreateTemporary(&self.incoming), create)?;
        Ok(Slot { body: dir.path().join("body"), out: dir.path().join("out"), dir, share: self.budget.share(plugin) })
    }

    /// Converts the body in `slot` to its final form inside the slot: one file with the given name,
    /// or the files of the archive. All of them are synced. Nothing else is changed, so the caller
    /// can drop the future at any time.
    pub(super) async fn unpack(&self, slot: Slot, shape: Shape, sha256: String) -> Result<Unpacked, StoreError> {
        let permit = Arc::clone(&self.cores).acquire_owned().await.map_err(io::Error::other)?;
        let (disk, limits) = (self.disk.clone(), self.limits.clone());
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            unpack(&disk, slot, shape, &limits, sha256)
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Moves the upload to the location of the result `key`. Only the upload that has claimed this
    /// result may call it.
    pub(super) fn place(&self, unpacked: Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::result_dir(&key.plugin, &key.node)))
    }

    /// Moves the upload to the location of the partial result of `key`.
    pub(super) fn place_partial(&self, unpacked: Unpacked, key: &ResultKey) -> io::Result<()> {
        self.place_at(unpacked, &self.tree.join(layout::partial_dir(&key.plugin, &key.node)))
    }

    fn place_at(&self, unpacked: Unpacked, target: &Path) -> io::Result<()> {
        let Some(parent) = target.parent() else { return Err(io::Error::other("a result has no directory")) };
        self.disk.create_directories(parent)?;
        let slot = unpacked.slot;
        // An earlier attempt was stored but not recorded.
        match self.disk.rename(target, &slot.dir.path().join("earlier")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.disk.rename(&slot.out, target)?;
        self.disk.sync_directory(parent).inspect_err(|_| {
            // The upload fails, so move its files out of the tree. If this fails too, a retry
            // replaces them.
            if let Err(error) = self.disk.rename(target, &slot.out) {
                tracing::error!("failed to take back `{}`: {error}", target.display());
            }
        })?;
        slot.share.keep();
        Ok(())
    }

    /// Removes what a crashed process left for `key` without a record in the journal: files and an
    /// error document. The files were never acknowledged, so the worker sends them again.
    pub(crate) fn discard(&self, key: &ResultKey) -> io::Result<()> {
        self.disk.remove_directory(&self.tree.join(layout::result_dir(&key.plugin, &key.node)))?;
        self.disk.remove_directory(&self.tree.join(layout::errors_dir(&key.plugin, &key.node)))
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

/// The private directory of an upload.
pub(super) struct Slot {
    pub(super) body: PathBuf,
    out: PathBuf,
    dir: tempfile::TempDir,
    /// Space of the files in it. Declared after the directory, so that the files are removed before
    /// the space is released.
    pub(super) share: Share,
}

/// A complete upload in its slot, durable on disk.
pub(super) struct Unpacked {
    slot: Slot,
    pub(super) stored: Stored,
}

fn unpack(
    disk: &Disk,
    mut slot: Slot,
    shape: Shape,
    limits: &ExtractLimits,
    sha256: String,
) -> Result<Unpacked, StoreError> {
    let bytes = fs::metadata(&slot.body)?.len();
    disk.step(Step::CreateDirectory(&slot.out), || fs::create_dir(&slot.out))?;
    let (kind, files) = match shape {
        Shape::File(name) => {
            slot.share.take(1, 0)?;
            disk.step(Step::Sync(&slot.body), || File::open(&slot.body)?.sync_all())?;
            disk.rename(&slot.body, &slot.out.join(name))?;
            (StoredKind::File, 1)
        }
        Shape::Archive => {
            let extracted = extract(&mut slot, limits)?;
            for skipped in &extracted.skipped {
                tracing::warn!(member = %skipped.member, "not unpacked: {}", skipped.why);
            }
            // One call for all files, because a sync per file would take longer than the upload.
            disk.step(Step::SyncTree(&slot.out), || Ok(rustix::fs::syncfs(File::open(&slot.out)?)?))?;
            disk.remove_file(&slot.body)?;
            slot.share.give_back(bytes);
            (StoredKind::Archive, extracted.files)
        }
    };
    disk.sync_directory(&slot.out)?;
    Ok(Unpacked { slot, stored: Stored { kind, files, bytes, sha256 } })
}

/// Unpacks the body within `limits` and the remaining budget.
fn extract(slot: &mut Slot, limits: &ExtractLimits) -> Result<Extracted, StoreError> {
    let (left, over) = slot.share.left();
    let within = ExtractLimits { unpacked_bytes: limits.unpacked_bytes.min(left), ..limits.clone() };
    let extracted = extract_tar_gz(File::open(&slot.body)?, &slot.out, &within).map_err(|error| match error {
        ExtractError::Stream(StreamError::TooManyBytes(_)) if left < limits.unpacked_bytes => over.into(),
        other => StoreError::Archive(other),
    })?;
    slot.share.take(extracted.entries, extracted.bytes)?;
    Ok(extracted)
}
