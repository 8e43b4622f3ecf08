//! Byte-for-byte copies of artifacts between registries and layouts. Digests and signatures stay
//! valid.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::layout::{Entry, Layout};
use crate::limits::{MAX_DEPTH, MAX_MANIFESTS};
use crate::manifest::{Descriptor, Manifest, RawManifest};
use crate::place::Storage;
use crate::reference::Reference;
use crate::turns::turn;

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
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Copies `root` and everything that it references, without referrers. It does not set a tag or
/// name.
///
/// # Errors
///
/// Same as [`copy`], or an image has layers that are stored outside of registries.
pub async fn copy_image(
    from: &Storage,
    root: &RawManifest,
    to: &Storage,
    progress: &Progress,
) -> Result<Copied, RegistryError> {
    let mut copied = Copied::default();
    let tree = tree(from, root).await?;
    let mut contents = HashSet::new();
    let mut total: u64 = 0;
    for manifest in &tree {
        let Manifest::Image(image) = &manifest.manifest else { continue };
        for blob in std::iter::once(&image.config).chain(&image.layers) {
            if is_foreign(blob) {
                return Err(Cause::Kind(format!(
                    "layer {} of manifest {} is kept by somebody else, and not in the registry (as those of Windows were)",
                    blob.digest, manifest.digest
                ))
                .of(copying(root)));
            }
            if contents.insert(blob.digest) {
                total = total.saturating_add(blob.size);
            }
        }
    }
    progress.total.store(total, Ordering::Relaxed);
    let mut done = HashSet::new();
    for manifest in &tree {
        one(from, manifest, to, &mut copied, &mut done, progress).await?;
    }
    Ok(copied)
}

/// Returns whether a blob must be downloaded from its own URL instead of from the registry.
fn is_foreign(blob: &Descriptor) -> bool {
    let urls = blob.other.get("urls").and_then(serde_json::Value::as_array).is_some_and(|urls| !urls.is_empty());
    urls || blob.media_type.contains(".foreign.") || blob.media_type.contains(".nondistributable.")
}

/// Copies `root`, everything that it references, and its referrers. It does not set a tag or name.
///
/// # Errors
///
/// A referenced manifest or blob is missing or does not match its digest, a limit is exceeded, or
/// the target rejects something.
pub async fn copy(from: &Storage, root: &RawManifest, to: &Storage) -> Result<Copied, RegistryError> {
    let mut copied = Copied::default();
    let tree = tree(from, root).await?;
    let mut done = HashSet::new();
    let progress = Progress::default();
    for manifest in &tree {
        one(from, manifest, to, &mut copied, &mut done, &progress).await?;
    }
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
            let belongs = matches!(&referrer.manifest, Manifest::Image(image)
                if image.subject.as_ref().is_some_and(|subject| subject.digest == manifest.digest));
            if belongs {
                one(from, &referrer, to, &mut copied, &mut done, &progress).await?;
                copied.referrers += 1;
            }
        }
    }
    Ok(copied)
}

/// Returns `root` and all manifests below it, each one after the manifests that it references.
async fn tree(from: &Storage, root: &RawManifest) -> Result<Vec<RawManifest>, RegistryError> {
    let mut found = Vec::new();
    let mut waiting: Vec<(RawManifest, usize)> = vec![(root.clone(), 0)];
    while let Some((manifest, depth)) = waiting.pop() {
        if let Manifest::Index(index) = &manifest.manifest {
            if depth >= MAX_DEPTH {
                return Err(
                    Cause::Malformed(format!("indexes name indexes more than {MAX_DEPTH} deep")).of(copying(root))
                );
            }
            for child in &index.manifests {
                if found.len() + waiting.len() >= MAX_MANIFESTS {
                    return Err(too_many(root));
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

fn copying(root: &RawManifest) -> String {
    format!("copy {}", root.digest)
}

fn too_many(root: &RawManifest) -> RegistryError {
    Cause::Malformed(format!("there are more than {MAX_MANIFESTS} manifests")).of(copying(root))
}

/// Copies one manifest, after its blobs.
async fn one(
    from: &Storage,
    manifest: &RawManifest,
    to: &Storage,
    copied: &mut Copied,
    done: &mut HashSet<Digest>,
    progress: &Progress,
) -> Result<(), RegistryError> {
    if let Manifest::Image(image) = &manifest.manifest {
        for blob in std::iter::once(&image.config).chain(&image.layers) {
            if !done.insert(blob.digest) {
                continue;
            }
            let _turn = turn(to.name(), blob.digest).await;
            if !to.has(blob).await? {
                let fetched = from.fetch(blob).await?;
                to.store(blob, fetched.path()).await?;
                copied.blobs += 1;
                copied.bytes = copied.bytes.saturating_add(blob.size);
            }
            progress.done.fetch_add(blob.size, Ordering::Relaxed);
        }
    }
    to.put(manifest).await?;
    copied.manifests += 1;
    Ok(())
}

/// Copies the artifact at `reference` to a layout, named after the reference. Returns its
/// descriptor and the statistics.
///
/// # Errors
///
/// Same as [`copy`].
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
        _ => reference
            .with_tag(reference.tag_or_default())
            .map_err(|error| Cause::from(error).of(format!("name `{reference}`")))?
            .bare(),
    };
    let descriptor = root.descriptor();
    layout
        .list(descriptor.clone(), Some(&name))
        .map_err(|cause| cause.of(format!("list `{name}` in layout `{}`", layout.dir().display())))?;
    Ok((descriptor, copied))
}

/// Copies an entry of a layout to a registry, under the tag of `to`. Without a tag, it is only
/// available by digest.
///
/// # Errors
///
/// Same as [`copy`].
pub async fn load(layout: &Layout, entry: &Entry, client: &Client, to: &Reference) -> Result<Copied, RegistryError> {
    let from = Storage::Layout(layout.clone());
    let root = from.manifest(&entry.descriptor).await?;
    let copied = copy(&from, &root, &Storage::Registry(client.clone(), to.clone())).await?;
    if to.tag().is_some() {
        client.put_manifest(to, &root).await?;
    }
    Ok(copied)
}
