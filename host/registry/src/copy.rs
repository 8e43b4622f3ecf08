//! Copies of whole artefacts from one place to another: byte for byte, so that digests and signatures stay what they are.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::client::Client;
use crate::digest::Digest;
use crate::error::{Cause, RegistryError};
use crate::layout::{Entry, Layout};
use crate::limits::{MAX_DEPTH, MAX_MANIFESTS};
use crate::manifest::{Descriptor, Manifest, RawManifest};
use crate::place::Place;
use crate::reference::Reference;
use crate::turns::turn;

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    /// Manifests and indexes.
    pub manifests: usize,
    /// Contents that were not there before.
    pub blobs: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Of the manifests, those that belong to others: signatures and the like.
    pub referrers: usize,
}

/// How far a copy is: for whoever shows it while it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Bytes of contents that are in place, and of all of them; the latter is 0 until it is known.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Copies `root` with all that it names, byte for byte, and nothing that belongs to it. Nothing gets a name by this.
///
/// # Errors
///
/// As [`copy`]; and an image has contents that are kept elsewhere than in registries.
pub async fn copy_image(
    from: &Place,
    root: &RawManifest,
    to: &Place,
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

/// Whether a content is meant to be fetched from where it says, and not from the registry.
fn is_foreign(blob: &Descriptor) -> bool {
    let urls = blob.other.get("urls").and_then(serde_json::Value::as_array).is_some_and(|urls| !urls.is_empty());
    urls || blob.media_type.contains(".foreign.") || blob.media_type.contains(".nondistributable.")
}

/// Copies `root` with all that it names, and all that belongs to it. Nothing gets a name by this.
///
/// # Errors
///
/// Something that is named is not there or not what was promised, there is more than is taken, or the place does not take it.
pub async fn copy(from: &Place, root: &RawManifest, to: &Place) -> Result<Copied, RegistryError> {
    let mut copied = Copied::default();
    let tree = tree(from, root).await?;
    let mut done = HashSet::new();
    let progress = Progress::default();
    for manifest in &tree {
        one(from, manifest, to, &mut copied, &mut done, &progress).await?;
    }
    // After all of what they belong to: some registries want to have the subject first.
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
            // A list may name anything; what says itself that it belongs elsewhere stays there.
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

/// `root` and the manifests below it, each after all that it names.
async fn tree(from: &Place, root: &RawManifest) -> Result<Vec<RawManifest>, RegistryError> {
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
    // Parents stand before their children now, some children several times. Backwards, the first of each stands before all its parents.
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

/// One manifest, after its contents.
async fn one(
    from: &Place,
    manifest: &RawManifest,
    to: &Place,
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

/// Copies what `reference` names into a layout, under the name of the reference. Its digest, and what was copied.
///
/// # Errors
///
/// As [`copy`].
pub async fn save(
    client: &Client,
    reference: &Reference,
    layout: &Layout,
) -> Result<(Descriptor, Copied), RegistryError> {
    let root = client.manifest(reference).await?;
    let from = Place::Registry(client.clone(), reference.clone());
    let copied = copy(&from, &root, &Place::Layout(layout.clone())).await?;
    let name = match (reference.tag(), reference.digest()) {
        // Named by digest alone, it has no other name.
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

/// Copies an entry of a layout to a registry, under the tag of `to`; without one, under its digest alone.
///
/// # Errors
///
/// As [`copy`].
pub async fn load(layout: &Layout, entry: &Entry, client: &Client, to: &Reference) -> Result<Copied, RegistryError> {
    let from = Place::Layout(layout.clone());
    let root = from.manifest(&entry.descriptor).await?;
    let copied = copy(&from, &root, &Place::Registry(client.clone(), to.clone())).await?;
    if to.tag().is_some() {
        client.put_manifest(to, &root).await?;
    }
    Ok(copied)
}
