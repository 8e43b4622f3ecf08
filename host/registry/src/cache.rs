//! Cache of downloads. A blob that is identified by its digest cannot change, so it is downloaded
//! only once.
//!
//! The cache is a flat directory of files named after repository and digest. The repository is part
//! of the name, because a blob from one repository does not prove that another one has it. A
//! misspelled reference must fail every time.
//!
//! A file is used only after its digest is verified, no matter who wrote it. Errors of the cache
//! are logged and only cost a download.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plumbline_core::{Digest, DigestWriter};
use tempfile::{Builder, NamedTempFile};

use crate::limits::{MAX_CACHE_BYTES, MAX_CACHE_FILES, MAX_MANIFEST_BYTES};
use crate::manifest::{Descriptor, RawManifest};
use crate::reference::Reference;
use crate::settings::Settings;

/// Name prefix of incomplete files.
const UNFINISHED: &str = ".new-";
/// Age after which an incomplete file is considered abandoned: a day.
const ABANDONED: Duration = Duration::from_hours(24);

#[derive(Debug, Clone)]
pub(crate) struct DownloadCache {
    dir: PathBuf,
    /// Hash of the repository's name, for file names.
    repository: String,
    scratch: PathBuf,
}

impl DownloadCache {
    /// Returns the cache for a repository. `None` if no download directory is configured.
    pub(crate) fn of(settings: &Settings, repository: &Reference) -> Option<Self> {
        Some(Self {
            dir: settings.downloads.clone()?,
            repository: Digest::of(repository.name().as_bytes()).hex(),
            scratch: settings.scratch(),
        })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.dir.join(format!("{}-{}", self.repository, digest.hex()))
    }

    /// Returns a copy of the blob, positioned at its start, if it is cached and valid.
    pub(crate) async fn blob(&self, wanted: &Descriptor) -> Option<NamedTempFile> {
        let (cache, wanted) = (self.clone(), wanted.clone());
        blocking(move || cache.read(&wanted)).await.flatten()
    }

    pub(crate) async fn manifest(&self, digest: Digest) -> Option<RawManifest> {
        let cache = self.clone();
        blocking(move || {
            let size = fs::metadata(cache.path(digest)).ok()?.len();
            if size > MAX_MANIFEST_BYTES {
                cache.drop_damaged(digest, &"it is larger than any manifest");
                return None;
            }
            // The expected size is not known. Pass the actual size, so that only the digest is
            // verified.
            let mut file = cache.read(&Descriptor::new("", digest, size))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            RawManifest::parse(bytes.into(), None).ok()
        })
        .await
        .flatten()
    }

    pub(crate) async fn keep(&self, digest: Digest, from: &Path) {
        let (cache, from) = (self.clone(), from.to_owned());
        blocking(move || cache.write(digest, |to| io::copy(&mut File::open(&from)?, to).map(drop))).await;
    }

    pub(crate) async fn keep_manifest(&self, manifest: &RawManifest) {
        let (cache, manifest) = (self.clone(), manifest.clone());
        blocking(move || {
            // The cache does not store the server's media type. Skip a manifest whose type does not
            // follow from its content.
            let same = RawManifest::parse(manifest.bytes.clone(), None)
                .is_ok_and(|again| again.media_type == manifest.media_type);
            if same {
                cache.write(manifest.digest, |to| to.write_all(&manifest.bytes));
            }
        })
        .await;
    }

    fn read(&self, wanted: &Descriptor) -> Option<NamedTempFile> {
        let path = self.path(wanted.digest);
        // Check the file type before opening, because opening a pipe could block.
        if !fs::symlink_metadata(&path).ok()?.is_file() {
            return None;
        }
        let from = File::open(&path).ok()?;
        // Hash the same bytes that are copied, in case the file changes meanwhile. A file that
        // cannot be read is replaced after the download.
        let mut copy = DigestWriter::new(NamedTempFile::new_in(&self.scratch).ok()?);
        io::copy(&mut (&from).take(wanted.size.saturating_add(1)), &mut copy).ok()?;
        if let Err(cause) = wanted.verify(copy.bytes(), copy.digest()) {
            self.drop_damaged(wanted.digest, &cause);
            return None;
        }
        let mut copy = copy.into_inner();
        copy.rewind().ok()?;
        // Records the last use. If that fails, the file is only removed earlier.
        let _ = from.set_modified(SystemTime::now());
        tracing::debug!(digest = %wanted.digest, "it was downloaded before");
        Some(copy)
    }

    fn drop_damaged(&self, digest: Digest, why: &dyn std::fmt::Display) {
        let path = self.path(digest);
        tracing::warn!("`{}` is damaged and will be downloaded again: {why}", path.display());
        let _ = fs::remove_file(path);
    }

    fn write(&self, digest: Digest, fill: impl FnOnce(&mut NamedTempFile) -> io::Result<()>) {
        let path = self.path(digest);
        let written = || -> io::Result<()> {
            // Blobs of private registries must not be readable by other users.
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            let mut file = Builder::new().prefix(UNFINISHED).tempfile_in(&self.dir)?;
            fill(&mut file)?;
            // Rename atomically, so that other processes see all or nothing. If two processes
            // write, both have the same content.
            file.persist(&path).map_err(|error| error.error)?;
            self.prune()
        };
        if let Err(error) = written() {
            tracing::debug!("failed to cache `{}`: {error}", path.display());
        }
    }

    /// Removes the least recently used files until the rest is within the limits.
    fn prune(&self) -> io::Result<()> {
        let now = SystemTime::now();
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            // Another process may already have removed the entry.
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
            // The newest file stays regardless of its size, which another limit has already
            // allowed.
            if at > 0 && (at >= MAX_CACHE_FILES || bytes > MAX_CACHE_BYTES) {
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

/// Runs blocking work on a separate thread, because hashing some 100 MiB must not block the async
/// runtime. `None` if the thread panicked, which only costs a download.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
