//! Storage of uploads. Each one is checked and unpacked in a private directory, within the limits of
//! its plugin and of the run, and then renamed to its final location.

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
}

/// The directories of a run for uploads. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) disk: Disk,
    incoming: PathBuf,
    tree: PathBuf,
    limits: ExtractLimits,
    budget: Arc<Budget>,
    // Unpacking uses a core. The number of concurrent jobs is limited to the number of cores,
    // however many uploads complete at the same time.
    cores: Arc<Semaphore>,
}

impl Store {
    /// Creates a store on `disk` that receives uploads in `incoming` and keeps results below
    /// `tree`, in the layout of the archive. Both directories must be on the same file system.
    /// `incoming` is emptied, because a crash interrupted the uploads in it.
    pub fn create(disk: &Disk, incoming: PathBuf, tree: PathBuf, limits: &ReceiveLimits) -> io::Result<Self> {
        disk.remove_directory(&incoming)?;
        disk.create_directories(&incoming)?;
        disk.create_directories(&tree)?;
        let budget = Arc::new(Budget::of(&tree, limits)?);
        let limits = ExtractLimits::from(limits);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { disk: disk.clone(), incoming, tree, limits, budget, cores: Arc::new(Semaphore::new(cores)) })
    }

    /// Creates a private directory for one upload of `plugin`. It is removed when the value is
    /// dropped.
    pub(super) fn slot(&self, plugin: &PluginName) -> io::Result<Slot> {
        let create = || tempfile::Builder::new().prefix("upload-").tempdir_in(&self.incoming);
        let dir = self.disk.step(Step::CreateTemporary(&self.incoming), create)?;
        Ok(Slot { body: dir.path().join("body"), out: dir.path().join("out"), dir, space: self.budget.reserve(plugin) })
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

    /// Stores the archive that `pack` writes at the location of the result `key`, by the rules of an
    /// upload, and returns the number of files. The list of files that `pack` left out does not
    /// count. Without files, nothing is stored.
    pub(crate) fn keep_packed<E: From<StoreError>>(
        &self,
        key: &ResultKey,
        pack: impl FnOnce(File) -> Result<(), E>,
    ) -> Result<u64, E> {
        let failed = |error: io::Error| E::from(StoreError::Io(error));
        let mut slot = self.slot(&key.plugin).map_err(failed)?;
        pack(File::create(&slot.body).map_err(failed)?)?;
        let bytes = fs::metadata(&slot.body).map_err(failed)?.len();
        slot.space.take(0, bytes).map_err(StoreError::from)?;
        let unpacked = unpack(&self.disk, slot, Shape::Archive, &self.limits, String::new())?;
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
        self.disk.create_directories(parent)?;
        let slot = unpacked.slot;
        // An earlier attempt was stored but not recorded.
        let earlier = slot.dir.path().join("earlier");
        match self.disk.rename(target, &earlier) {
            Ok(()) => slot.space.replace(&earlier),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
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
    pub(super) space: Reservation,
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
            slot.space.take(1, 0)?;
            disk.step(Step::Sync(&slot.body), || File::open(&slot.body)?.sync_all())?;
            disk.rename(&slot.body, &slot.out.join(name))?;
            (StoredKind::File, 1)
        }
        Shape::Archive => {
            let extracted = extract(&mut slot, limits)?;
            for skipped in &extracted.skipped {
                tracing::warn!(member = %skipped.member, "not unpacked: {}", skipped.why);
            }
            list_lost(&mut slot, &extracted)?;
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

/// Writes the list of what the result lost, as workers do, so that post-processing reports it. The
/// list of the worker stays.
fn list_lost(slot: &mut Slot, extracted: &Extracted) -> Result<(), StoreError> {
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
    fs::write(&list, text)?;
    Ok(())
}

/// Unpacks the body within `limits` and the remaining budget.
fn extract(slot: &mut Slot, limits: &ExtractLimits) -> Result<Extracted, StoreError> {
    let (left, over) = slot.space.left();
    let within = ExtractLimits { unpacked_bytes: limits.unpacked_bytes.min(left), ..limits.clone() };
    let extracted = extract_tar_gz(File::open(&slot.body)?, &slot.out, &within).map_err(|error| match error {
        ExtractError::Stream(StreamError::TooManyBytes(_)) if left < limits.unpacked_bytes => over.into(),
        other => StoreError::Archive(other),
    })?;
    slot.space.take(extracted.entries, extracted.bytes)?;
    Ok(extracted)
}

/// The maximum number of lost members that a list names.
const LISTED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_partial_result_gives_its_space_back() {
        let dir = tempfile::tempdir().unwrap();
        let limits = ReceiveLimits { plugin_bytes: 10_000, run_entries: 2, ..ReceiveLimits::default() };
        let (incoming, tree) = (dir.path().join("incoming"), dir.path().join("tree"));
        let store = Store::create(&Disk::default(), incoming, tree, &limits).unwrap();
        let key: ResultKey = "p/n1".parse().unwrap();
        for _ in 0..4 {
            let mut slot = store.slot(&key.plugin).unwrap();
            fs::write(&slot.body, [b'x'; 4_000]).unwrap();
            slot.space.take(0, 4_000).unwrap();
            let shape = Shape::File("a.txt".to_owned());
            let unpacked = unpack(&store.disk, slot, shape, &store.limits, String::new()).unwrap();
            store.place_partial(unpacked, &key).unwrap();
        }
        let mut slot = store.slot(&key.plugin).unwrap();
        assert!(slot.space.take(1, 6_001).is_err(), "the last one still counts");
        slot.space.take(1, 6_000).unwrap();
    }
}
