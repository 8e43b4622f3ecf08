//! Where uploads land: a private directory each, checked and unpacked there, then renamed into place.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
}

/// The directories of a run that uploads pass through. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    incoming: PathBuf,
    tree: PathBuf,
    limits: ExtractLimits,
    // Unpacking is work for a core, not for a connection: as many at once as there are cores, however many uploads end together.
    cores: Arc<Semaphore>,
}

impl Store {
    /// A store that receives in `incoming` (on the same file system as `tree`, and emptied here: what is in it was cut off by a crash) and
    /// keeps results below `tree`, in the layout of the archive.
    ///
    /// # Errors
    /// When the directories cannot be made or emptied.
    pub fn create(incoming: PathBuf, tree: PathBuf, limits: &ReceiveLimits) -> io::Result<Self> {
        match fs::remove_dir_all(&incoming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::DirBuilder::new().mode(0o700).recursive(true).create(&incoming)?;
        fs::create_dir_all(&tree)?;
        let limits = ExtractLimits::from(limits);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { incoming, tree, limits, cores: Arc::new(Semaphore::new(cores)) })
    }

    /// A new private directory for one upload; it goes away with the value.
    pub(super) fn slot(&self) -> io::Result<Slot> {
        let dir = tempfile::Builder::new().prefix("upload-").tempdir_in(&self.incoming)?;
        Ok(Slot { body: dir.path().join("body"), out: dir.path().join("out"), dir })
    }

    /// Makes the body in `slot` the result of `key`: as one file of that name, or unpacked.
    pub(super) async fn keep(
        &self,
        slot: Slot,
        key: &ResultKey,
        shape: Shape,
        sha256: String,
    ) -> Result<Stored, StoreError> {
        self.keep_at(slot, self.tree.join(layout::result_dir(&key.plugin, &key.node)), shape, sha256).await
    }

    /// Makes it what the plugin had when its time was up.
    pub(super) async fn keep_partial(
        &self,
        slot: Slot,
        key: &ResultKey,
        shape: Shape,
        sha256: String,
    ) -> Result<Stored, StoreError> {
        self.keep_at(slot, self.tree.join(layout::partial_dir(&key.plugin, &key.node)), shape, sha256).await
    }

    async fn keep_at(&self, slot: Slot, target: PathBuf, shape: Shape, sha256: String) -> Result<Stored, StoreError> {
        let permit = Arc::clone(&self.cores).acquire_owned().await.map_err(io::Error::other)?;
        let limits = self.limits.clone();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            keep(&slot, &target, shape, &limits, sha256)
        })
        .await
        .map_err(io::Error::other)?
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

fn keep(
    slot: &Slot,
    target: &Path,
    shape: Shape,
    limits: &ExtractLimits,
    sha256: String,
) -> Result<Stored, StoreError> {
    let bytes = fs::metadata(&slot.body)?.len();
    fs::create_dir(&slot.out)?;
    let (kind, files) = match shape {
        Shape::File(name) => {
            File::open(&slot.body)?.sync_all()?;
            fs::rename(&slot.body, slot.out.join(name))?;
            (StoredKind::File, 1)
        }
        Shape::Archive => {
            let extracted = extract_tar_gz(File::open(&slot.body)?, &slot.out, limits)?;
            for skipped in &extracted.skipped {
                tracing::warn!(member = %skipped.member, "not unpacked: {}", skipped.why);
            }
            // One call for all of them: a sync per file would take longer than the upload.
            rustix::fs::syncfs(File::open(&slot.out)?).map_err(io::Error::from)?;
            (StoredKind::Archive, extracted.files)
        }
    };
    File::open(&slot.out)?.sync_all()?;
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
        // An earlier attempt that was stored but never acknowledged, or one that failed half way in another version.
        match fs::rename(target, slot.dir.path().join("earlier")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        fs::rename(&slot.out, target)?;
        File::open(parent)?.sync_all()?;
    }
    Ok(Stored { kind, files, bytes, sha256 })
}
