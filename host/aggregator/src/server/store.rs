//! Storage of uploads. Each one is checked and unpacked in a private directory, within the limits of
//! its plugin and of the run, and then renamed to its final location.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumbline_archive::disk::{Disk, Step};
use plumbline_archive::extract::{ExtractError, ExtractLimits, Extracted, extract_tar_gz};
use plumbline_archive::layout;
use plumbline_archive::member::StreamError;
use plumbline_core::ledger::{Stored, StoredKind};
use plumbline_core::{PluginName, ReceiveLimits, ResultKey};
use tokio::sync::Semaphore;

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

/// Error for an upload that would exceed a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OverBudget {
    /// The plugin has sent too many bytes.
    #[error("with this result, the plugin would have more than {0} bytes (limit `plugin-bytes`)")]
    PluginBytes(u64),
    /// The plugins of the run together have sent too many bytes.
    #[error("with this result, the run would have more than {0} bytes (limit `run-bytes`)")]
    RunBytes(u64),
    /// The plugins of the run together have sent too many files and directories.
    #[error("with this result, the run would have more than {0} files and directories (limit `run-entries`)")]
    RunEntries(u64),
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
        match self.disk.rename(target, &slot.dir.path().join("earlier")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.disk.rename(&slot.out, target)?;
        self.disk.sync_directory(parent).inspect_err(|_| {
            // The upload fails, so move its files out of the tree. If this fails too, a retry
            // replaces them.
            if let Err(error) = self.disk.rename(target, &slot.out) {
                tracing::error!("failed to remove `{}` again: {error}", target.display());
            }
        })?;
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

/// Space that uploads use, and its limits.
struct Budget {
    limits: ReceiveLimits,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    entries: u64,
    bytes: u64,
    plugins: BTreeMap<String, u64>,
}

impl Budget {
    /// Creates a budget, and counts the results that are already below `tree`.
    fn of(tree: &Path, limits: &ReceiveLimits) -> io::Result<Self> {
        let mut used = Used::default();
        let plugins = tree.join(layout::PLUGINS_DIR);
        if plugins.is_dir() {
            for plugin in fs::read_dir(plugins)? {
                let plugin = plugin?;
                let Measured { entries, bytes, .. } = measure(&plugin.path())?;
                used.entries += entries;
                used.bytes += bytes;
                used.plugins.insert(plugin.file_name().to_string_lossy().into_owned(), bytes);
            }
        }
        Ok(Self { limits: limits.clone(), used: Mutex::new(used) })
    }

    /// Returns an empty reservation for a new upload of `plugin`.
    fn reserve(self: &Arc<Self>, plugin: &PluginName) -> Reservation {
        Reservation { budget: Arc::clone(self), plugin: plugin.to_string(), entries: 0, bytes: 0 }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Space of one upload in a [`Budget`]. Dropping it releases the space.
pub(super) struct Reservation {
    budget: Arc<Budget>,
    plugin: String,
    entries: u64,
    bytes: u64,
}

impl Reservation {
    /// Reserves more space, unless that exceeds a limit.
    pub(super) fn take(&mut self, entries: u64, bytes: u64) -> Result<(), OverBudget> {
        let limits = &self.budget.limits;
        let mut used = self.budget.used();
        let of_plugin = used.plugins.get(&self.plugin).copied().unwrap_or_default().saturating_add(bytes);
        let all = (used.entries.saturating_add(entries), used.bytes.saturating_add(bytes));
        if all.0 > limits.run_entries {
            return Err(OverBudget::RunEntries(limits.run_entries));
        }
        if of_plugin > limits.plugin_bytes {
            return Err(OverBudget::PluginBytes(limits.plugin_bytes));
        }
        if all.1 > limits.run_bytes {
            return Err(OverBudget::RunBytes(limits.run_bytes));
        }
        (used.entries, used.bytes) = all;
        match used.plugins.get_mut(&self.plugin) {
            Some(bytes) => *bytes = of_plugin,
            None => drop(used.plugins.insert(self.plugin.clone(), of_plugin)),
        }
        drop(used);
        self.entries += entries;
        self.bytes += bytes;
        Ok(())
    }

    /// Returns the remaining bytes, and the limit that applies.
    fn left(&self) -> (u64, OverBudget) {
        let limits = &self.budget.limits;
        let used = self.budget.used();
        let of_plugin = used.plugins.get(&self.plugin).copied().unwrap_or_default();
        let plugin = (limits.plugin_bytes.saturating_sub(of_plugin), OverBudget::PluginBytes(limits.plugin_bytes));
        let run = (limits.run_bytes.saturating_sub(used.bytes), OverBudget::RunBytes(limits.run_bytes));
        if plugin.0 <= run.0 { plugin } else { run }
    }

    /// Releases `bytes` that are no longer on disk.
    fn give_back(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.release(0, bytes);
    }

    /// Keeps the space permanently, because the upload has become a result.
    fn keep(mut self) {
        (self.entries, self.bytes) = (0, 0);
    }

    fn release(&self, entries: u64, bytes: u64) {
        let mut used = self.budget.used();
        used.entries = used.entries.saturating_sub(entries);
        used.bytes = used.bytes.saturating_sub(bytes);
        if let Some(of_plugin) = used.plugins.get_mut(&self.plugin) {
            *of_plugin = of_plugin.saturating_sub(bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release(self.entries, self.bytes);
    }
}

/// What is below a directory.
#[derive(Default)]
struct Measured {
    /// The number of files and directories.
    entries: u64,
    files: u64,
    /// The bytes of the files.
    bytes: u64,
}

/// Returns the number of files below `dir`.
pub(crate) fn count_files(dir: &Path) -> io::Result<u64> {
    measure(dir).map(|measured| measured.files)
}

fn measure(dir: &Path) -> io::Result<Measured> {
    let mut measured = Measured::default();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            measured.entries += 1;
            if metadata.is_dir() {
                open.push(entry.path());
            } else {
                measured.files += 1;
                measured.bytes += metadata.len();
            }
        }
    }
    Ok(measured)
}
