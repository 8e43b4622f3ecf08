//! Byte-for-byte copies of artifacts between registries and layouts. Digests and signatures stay
//! valid.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use plumbline_core::Digest;
use tokio::sync::OwnedMutexGuard;

use crate::client::Client;
use crate::error::{Cause, RegistryError};
use crate::layout::{Entry, Layout};
use crate::limits::{MAX_COPY_BYTES, MAX_DEPTH, MAX_MANIFESTS, MAX_TREE_BYTES};
use crate::manifest::{Descriptor, Manifest, RawManifest};
use crate::reference::Reference;
use crate::storage::Storage;

/// Statistics of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Number of manifests and indexes.
    pub manifests: usize,
    /// Number of blobs that the target did not have.
    pub blobs: usize,
    /// Total size of these blobs in bytes.
    pub bytes: u64,
    /// Number of the manifests that are referrers of others, such as signatures.
    pub referrers: usize,
}

/// Progress of a copy, for display while it runs.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Returns the bytes of blobs that are complete, and the total. The total is 0 until it is
    /// known.
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Copies `root` and everything that it references, without referrers. It does not set a tag or
/// name.
///
/// # Errors
/// Same as [`copy`], or an image has layers that are stored outside of registries.
pub async fn copy_image(
    from: &Storage,
    root: &RawManifest,
    to: &Storage,
    progress: &Progress,
) -> Result<Copied, RegistryError> {
    let tree = tree(from, root).await?;
    for manifest in &tree {
        if let Some(blob) = blobs(manifest).find(|blob| is_foreign(blob)) {
            return Err(Cause::Kind(format!(
                "layer {} of manifest {} is stored outside of the registry, which is not supported: choose other platforms (`--platform`)",
                blob.digest, manifest.digest
            ))
            .of(format!("copy {}", root.digest)));
        }
    }
    progress.total.store(total(&tree, root)?, Ordering::Relaxed);
    let mut copy = Copier::new(from, to, progress);
    copy.all(&tree).await?;
    Ok(copy.copied)
}

/// Returns whether a blob must be downloaded from its own URL instead of from the registry.
fn is_foreign(blob: &Descriptor) -> bool {
    let urls = blob.other.get("urls").and_then(serde_json::Value::as_array).is_some_and(|urls| !urls.is_empty());
    urls || blob.media_type.contains(".foreign.") || blob.media_type.contains(".nondistributable.")
}

/// Copies `root`, everything that it references, and its referrers. It does not set a tag or name.
///
/// # Errors
/// A referenced manifest or blob is missing or does not match its digest, a limit is exceeded, or
/// the target rejects something.
pub async fn copy(from: &Storage, root: &RawManifest, to: &Storage) -> Result<Copied, RegistryError> {
    let progress = Progress::default();
    let mut copy = Copier::new(from, to, &progress);
    let tree = tree(from, root).await?;
    total(&tree, root)?;
    copy.all(&tree).await?;
    // Copy referrers last, because some registries require that the subject exists.
    let mut listed = HashSet::new();
    for manifest in &tree {
        for descriptor in from.referrers(manifest.digest).await? {
            if !listed.insert(descriptor.digest) {
                continue;
            }
            if listed.len() + tree.len() > MAX_MANIFESTS {
                return Err(too_many(root));
            }
            let referrer = from.manifest(&descriptor).await?;
            // A list can contain anything. Skip manifests with another subject.
            if referrer.subject().is_some_and(|subject| subject.digest == manifest.digest) {
                copy.one(&referrer).await?;
                copy.copied.referrers += 1;
            }
        }
    }
    Ok(copy.copied)
}

/// Copies the artifact at `reference` to a layout, named after the reference. Returns its
/// descriptor and the statistics.
pub async fn save(
    client: &Client,
    reference: &Reference,
    layout: &Layout,
) -> Result<(Descriptor, Copied), RegistryError> {
    let root = client.manifest(reference).await?;
    let from = Storage::Registry(client.clone(), reference.clone());
    let copied = copy(&from, &root, &Storage::Layout(layout.clone())).await?;
    let name = match (reference.tag(), reference.digest()) {
        // A reference with only a digest has no other name.
        (None, Some(_)) => reference.bare(),
        _ => reference.tagged().bare(),
    };
    let descriptor = root.descriptor();
    layout
        .list(descriptor.clone(), Some(&name))
        .map_err(|cause| cause.of(format!("list `{name}` in layout `{}`", layout.dir().display())))?;
    Ok((descriptor, copied))
}

/// Copies an entry of a layout to a registry, under the tag of `to`. Without a tag, it is only
/// available by digest.
pub async fn load(layout: &Layout, entry: &Entry, client: &Client, to: &Reference) -> Result<Copied, RegistryError> {
    let from = Storage::Layout(layout.clone());
    let root = from.manifest(&entry.descriptor).await?;
    let copied = copy(&from, &root, &Storage::Registry(client.clone(), to.clone())).await?;
    if to.tag().is_some() {
        client.put_manifest(to, &root).await?;
    }
    Ok(copied)
}

/// Returns `root` and all manifests below it, each one after the manifests that it references.
async fn tree(from: &Storage, root: &RawManifest) -> Result<Vec<RawManifest>, RegistryError> {
    let mut found = Vec::new();
    let mut waiting: Vec<(RawManifest, usize)> = vec![(root.clone(), 0)];
    let mut bytes: u64 = 0;
    while let Some((manifest, depth)) = waiting.pop() {
        if let Manifest::Index(index) = &manifest.manifest {
            if depth >= MAX_DEPTH {
                let cause = Cause::Malformed(format!("indexes are nested more than {MAX_DEPTH} levels deep"));
                return Err(cause.of(format!("copy {}", root.digest)));
            }
            for child in &index.manifests {
                if found.len() + waiting.len() >= MAX_MANIFESTS {
                    return Err(too_many(root));
                }
                // Checks the size before the download: an index of a few KiB can list one large manifest many times.
                bytes = bytes.saturating_add(child.size);
                if bytes > MAX_TREE_BYTES {
                    return Err(Cause::TooLarge(MAX_TREE_BYTES).of(format!("copy {}", root.digest)));
                }
                waiting.push((from.manifest(child).await?, depth + 1));
            }
        }
        found.push(manifest);
    }
    // So far, parents precede their children, and some children occur several times. After
    // reversing, the first occurrence of each child precedes all its parents.
    let mut seen = HashSet::new();
    found.reverse();
    found.retain(|manifest| seen.insert(manifest.digest));
    Ok(found)
}

/// Returns the size of all blobs of `manifests`, each counted once.
fn total(manifests: &[RawManifest], root: &RawManifest) -> Result<u64, RegistryError> {
    let mut seen = HashSet::new();
    let blobs = manifests.iter().flat_map(blobs).filter(|blob| seen.insert(blob.digest));
    let total = blobs.fold(0, |total: u64, blob| total.saturating_add(blob.size));
    if total > MAX_COPY_BYTES { Err(too_large(root)) } else { Ok(total) }
}

fn too_large(root: &RawManifest) -> RegistryError {
    Cause::TooLarge(MAX_COPY_BYTES).of(format!("copy {}", root.digest))
}

fn too_many(root: &RawManifest) -> RegistryError {
    Cause::Malformed(format!("there are more than {MAX_MANIFESTS} manifests")).of(format!("copy {}", root.digest))
}

fn blobs(manifest: &RawManifest) -> impl Iterator<Item = &Descriptor> {
    let image = match &manifest.manifest {
        Manifest::Image(image) => Some(image),
        Manifest::Index(_) => None,
    };
    image.into_iter().flat_map(|image| std::iter::once(&image.config).chain(&image.layers))
}

struct Copier<'a> {
    from: &'a Storage,
    to: &'a Storage,
    progress: &'a Progress,
    copied: Copied,
    done: HashSet<Digest>,
    bytes: u64,
}

impl<'a> Copier<'a> {
    fn new(from: &'a Storage, to: &'a Storage, progress: &'a Progress) -> Self {
        Self { from, to, progress, copied: Copied::default(), done: HashSet::new(), bytes: 0 }
    }

    async fn all(&mut self, manifests: &[RawManifest]) -> Result<(), RegistryError> {
        for manifest in manifests {
            self.one(manifest).await?;
        }
        Ok(())
    }

    async fn one(&mut self, manifest: &RawManifest) -> Result<(), RegistryError> {
        for blob in blobs(manifest) {
            if !self.done.insert(blob.digest) {
                continue;
            }
            self.bytes = self.bytes.saturating_add(blob.size);
            if self.bytes > MAX_COPY_BYTES {
                return Err(too_large(manifest));
            }
            if copy_blob(self.from, blob, self.to).await? {
                self.copied.blobs += 1;
                self.copied.bytes = self.copied.bytes.saturating_add(blob.size);
            }
            self.progress.done.fetch_add(blob.size, Ordering::Relaxed);
        }
        self.to.put(manifest).await?;
        self.copied.manifests += 1;
        Ok(())
    }
}

/// Copies a blob, unless the target already has it. Returns whether it was copied.
pub(crate) async fn copy_blob(from: &Storage, blob: &Descriptor, to: &Storage) -> Result<bool, RegistryError> {
    let _lock = lock_blob(to.name(), blob.digest).await;
    if to.has(blob).await? {
        return Ok(false);
    }
    let fetched = from.fetch(blob).await?;
    to.store(blob, fetched.path()).await?;
    Ok(true)
}

type BlobLock = Arc<tokio::sync::Mutex<()>>;

/// Locks of the whole process, because several clients can access the same storage. There is an
/// entry for each blob that is being copied.
static LOCKS: LazyLock<Mutex<HashMap<(String, Digest), BlobLock>>> = LazyLock::new(Mutex::default);

/// Waits until no other task copies this blob to `storage`. The lock is held until the result is
/// dropped.
///
/// Images share layers, and two concurrent copies would both upload a shared layer. Some registries
/// also fail in that case: while an upload of a blob is being completed, they report another upload
/// of it as damaged.
async fn lock_blob(storage: String, blob: Digest) -> OwnedMutexGuard<()> {
    let lock = {
        let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        // Tasks that copy or wait hold another reference.
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(locks.entry((storage, blob)).or_default())
    };
    lock.lock_owned().await
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::ops::Range;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;
    use crate::limits::MAX_BLOB_BYTES;
    use crate::manifest::ImageManifest;
    use crate::media;

    #[tokio::test]
    async fn a_copy_has_a_limit_for_all_its_blobs() {
        let layer = |n: u64| Descriptor::new(media::OCI_LAYER_GZIP, Digest::of(&n.to_be_bytes()), MAX_BLOB_BYTES);
        let write = |subject: Option<Descriptor>, numbers: Range<u64>| {
            let layers = numbers.map(layer).collect();
            let manifest = ImageManifest::new(Some("application/vnd.test"), layer(0), layers);
            RawManifest::write(&ImageManifest { subject, ..manifest }).unwrap()
        };
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [from, to] = dirs.each_ref().map(|dir| Storage::Layout(Layout::create(dir.path()).unwrap()));
        let root = write(None, 1..17);
        for copied in [copy(&from, &root, &to).await, copy_image(&from, &root, &to, &Progress::default()).await] {
            let error = copied.unwrap_err();
            assert!(matches!(*error.cause, Cause::TooLarge(MAX_COPY_BYTES)), "{}", error.cause);
        }
        // The blobs of referrers count too.
        let progress = Progress::default();
        let mut copier = Copier { bytes: 15 * MAX_BLOB_BYTES + 1, ..Copier::new(&from, &to, &progress) };
        let error = copier.one(&write(Some(root.descriptor()), 1..2)).await.unwrap_err();
        assert!(matches!(*error.cause, Cause::TooLarge(MAX_COPY_BYTES)), "{}", error.cause);
    }

    #[tokio::test]
    async fn a_copy_has_a_limit_for_all_its_manifests() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [from, to] = dirs.each_ref().map(|dir| Storage::Layout(Layout::create(dir.path()).unwrap()));
        let config = Descriptor::of(media::OCI_CONFIG, b"{}");
        let image = ImageManifest::new(Some("application/vnd.test"), config, Vec::new());
        let small = RawManifest::write(&image).unwrap();
        from.put(&small).await.unwrap();
        // One that is too large only together with the other.
        let large = Descriptor::new(media::OCI_MANIFEST, Digest::of(b"large"), MAX_TREE_BYTES);
        let manifests = [small.descriptor(), large];
        let index = serde_json::json!({"schemaVersion": 2, "mediaType": media::OCI_INDEX, "manifests": manifests});
        let root = RawManifest::parse(index.to_string().into(), None).unwrap();
        for copied in [copy(&from, &root, &to).await, copy_image(&from, &root, &to, &Progress::default()).await] {
            let error = copied.unwrap_err();
            assert!(matches!(*error.cause, Cause::TooLarge(MAX_TREE_BYTES)), "{}", error.cause);
        }
    }

    #[tokio::test]
    async fn only_the_same_content_in_the_same_place_is_waited_for() {
        let [a, b] = [Digest::of(b"a"), Digest::of(b"b")];
        let held = lock_blob("here".to_owned(), a).await;
        let mut context = Context::from_waker(Waker::noop());
        let mut second = pin!(lock_blob("here".to_owned(), a));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop((lock_blob("here".to_owned(), b).await, lock_blob("there".to_owned(), a).await));
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(held);
        drop(second.await);
        drop(lock_blob("elsewhere".to_owned(), a).await);
        let left: Vec<_> = LOCKS.lock().unwrap().keys().filter(|(place, _)| place == "here").cloned().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
