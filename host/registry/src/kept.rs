//! Contents that were downloaded before. What is named by its digest cannot change, so it need not come twice.
//!
//! A flat directory of files named after repository and digest. The repository is part of the name: that a content was had from one place
//! says nothing of another, and a reference that is spelt wrong is to fail the second time as it did the first. A file is believed only
//! after it was hashed, whoever wrote it. Whatever goes wrong here is told in the log, and costs a download.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tempfile::{Builder, NamedTempFile};

use crate::check::Checker;
use crate::digest::Digest;
use crate::limits::{MAX_KEPT, MAX_KEPT_BYTES, MAX_MANIFEST_BYTES};
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::Reference;
use crate::settings::Settings;

/// What files begin with that are being written.
const UNFINISHED: &str = ".new-";
/// How old one of these is when whoever wrote it must have died: a day.
const ABANDONED: Duration = Duration::from_hours(24);
/// Bytes that are hashed and copied at a time.
const PIECE: usize = 64 << 10;

/// What was downloaded from one repository.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    dir: PathBuf,
    /// The repository, in a form that is a file's name.
    repository: String,
    scratch: PathBuf,
}

impl Kept {
    /// `None`: nothing is kept.
    pub(crate) fn of(settings: &Settings, repository: &Reference) -> Option<Self> {
        let name = format!("{}/{}", repository.registry(), repository.repository());
        Some(Self {
            dir: settings.downloads.clone()?,
            repository: Digest::of(name.as_bytes()).hex(),
            scratch: settings.scratch.clone().unwrap_or_else(std::env::temp_dir),
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(format!("{}-{}", self.repository, digest.hex()))
    }

    /// A copy of the content, at its beginning, if it is here and sound.
    pub(crate) async fn content(&self, wanted: &Descriptor) -> Option<NamedTempFile> {
        let (kept, wanted) = (self.clone(), wanted.clone());
        off_the_threads(move || kept.copied(&wanted)).await.flatten()
    }

    /// The manifest with this digest, if it is here and sound.
    pub(crate) async fn manifest(&self, digest: Digest) -> Option<RawManifest> {
        let kept = self.clone();
        off_the_threads(move || {
            let size = fs::metadata(kept.path(digest)).ok()?.len();
            if size > MAX_MANIFEST_BYTES {
                kept.drop_damaged(digest, &"it is larger than any manifest");
                return None;
            }
            // Of this size it must be, because it is: the digest decides.
            let mut file = kept.copied(&Descriptor::new("", digest, size))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            RawManifest::parse(Bytes::from(bytes), None).ok()
        })
        .await
        .flatten()
    }

    /// Keeps a content that has been checked, which is in the file at `from`.
    pub(crate) async fn keep(&self, digest: Digest, from: &Path) {
        let (kept, from) = (self.clone(), from.to_owned());
        off_the_threads(move || kept.write(digest, |to| io::copy(&mut File::open(&from)?, to).map(drop))).await;
    }

    /// Keeps a manifest that has been checked.
    pub(crate) async fn keep_manifest(&self, manifest: &RawManifest) {
        let (kept, manifest) = (self.clone(), manifest.clone());
        off_the_threads(move || {
            // The type that its server told is not kept with it: where that makes a difference, it comes anew.
            let same = RawManifest::parse(manifest.bytes.clone(), None)
                .is_ok_and(|again| again.media_type == manifest.media_type);
            if same {
                kept.write(manifest.digest, |to| to.write_all(&manifest.bytes));
            }
        })
        .await;
    }

    fn copied(&self, wanted: &Descriptor) -> Option<NamedTempFile> {
        let path = self.path(wanted.digest);
        // Not opened before it is known to be a file: a pipe would be waited for.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut from = File::open(&path).ok()?;
        let mut copy = NamedTempFile::new_in(&self.scratch).ok()?;
        let mut checker = Checker::new(wanted);
        let mut piece = vec![0; PIECE];
        loop {
            // What is hashed is what is given away, whatever happens to the file meanwhile.
            let read = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => piece.get(..read)?,
                Err(error) => {
                    self.drop_damaged(wanted.digest, &error);
                    return None;
                }
            };
            if let Err(cause) = checker.take(read) {
                self.drop_damaged(wanted.digest, &cause);
                return None;
            }
            copy.write_all(read).ok()?;
        }
        if let Err(cause) = checker.finish() {
            self.drop_damaged(wanted.digest, &cause);
            return None;
        }
        copy.rewind().ok()?;
        // Its last use; without it, it is removed earlier.
        let _ = from.set_modified(SystemTime::now());
        tracing::debug!(digest = %wanted.digest, "it was downloaded before");
        Some(copy)
    }

    fn drop_damaged(&self, digest: Digest, why: &dyn std::fmt::Display) {
        let path = self.path(digest);
        tracing::warn!("`{}` is damaged and comes again: {why}", path.display());
        let _ = fs::remove_file(path);
    }

    fn write(&self, digest: Digest, fill: impl FnOnce(&mut NamedTempFile) -> io::Result<()>) {
        let path = self.path(digest);
        let written = || -> io::Result<()> {
            // Contents of registries that ask for credentials are nobody else's business.
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let mut file = Builder::new().prefix(UNFINISHED).tempfile_in(&self.dir)?;
            fill(&mut file)?;
            // At once whole under its name: another process sees all of it or nothing, and the last of two wins with the same content.
            file.persist(&path).map_err(|error| error.error)?;
            self.prune()
        };
        if let Err(error) = written() {
            tracing::debug!("`{}` cannot be kept: {error}", path.display());
        }
    }

    /// Removes what was used longest ago, until the rest is within the limits.
    fn prune(&self) -> io::Result<()> {
        let now = SystemTime::now();
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            // Another process may have been faster.
            let Ok(entry) = entry else { continue };
            let Ok(metadata) = entry.metadata() else { continue };
            let (used, path) = (metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path());
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                if now.duration_since(used).is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(path);
                }
            } else if metadata.is_file() {
                found.push((used, metadata.len(), path));
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let mut bytes = 0_u64;
        for (at, (_, size, path)) in found.into_iter().enumerate() {
            bytes = bytes.saturating_add(size);
            // The newest stays, however large: it was taken under a limit of its own.
            if at > 0 && (at >= MAX_KEPT || bytes > MAX_KEPT_BYTES) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

/// Hashing some 100 MiB is no work for a thread that has connections to serve. `None`: the thread ended, which costs a download.
async fn off_the_threads<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
