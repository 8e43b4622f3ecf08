//! Concurrent copies of many images, and comparison of copies with their sources. A failure does not
//! stop the others, and each result is reported.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use plumbline_registry::{
    Cause, Client, Copied, Descriptor, Digest, Image, Layout, Manifest, Platform, Progress, RawManifest, Reference,
    RegistryError, Storage, copy_image, media,
};
use tokio::task::JoinSet;

/// Number of concurrent copies. It is enough to use the bandwidth while one copy waits for a
/// response, and low enough not to look like an attack.
const AT_ONCE: usize = 4;
/// Interval of progress events.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Source of an image.
#[derive(Debug, Clone)]
pub enum Source {
    /// A registry.
    Registry(Reference),
    /// An entry of a layout.
    Layout(Layout, Box<Descriptor>),
}

/// Target of an image.
#[derive(Debug, Clone)]
pub enum Target {
    /// A registry, with the tag of the reference. Without a tag, the image is only available by
    /// digest.
    Registry(Reference),
    /// A layout, with this name.
    Layout(Layout, String),
}

/// An image to copy.
#[derive(Debug, Clone)]
pub struct Job {
    /// Name of the image for messages.
    pub image: String,
    /// Source of the image.
    pub from: Source,
    /// Target of the image.
    pub to: Target,
}

/// Result of a copy.
#[derive(Debug)]
pub enum Outcome {
    /// The image, or the missing part of it, was copied.
    Copied(Copied),
    /// The target already had an identical image.
    There,
    /// The copy failed.
    Failed(RegistryError),
}

/// An image and the result of its copy.
#[derive(Debug)]
pub struct TransferResult {
    /// Name of the image.
    pub image: String,
    /// Name at the target.
    pub target: String,
    /// Digest at the target, if known.
    pub digest: Option<Digest>,
    /// Whether all platforms were copied although one was selected. This happens if the image is
    /// referenced by the digest of its index.
    pub whole: bool,
    /// Result of the copy.
    pub outcome: Outcome,
}

/// Event during a transfer.
#[derive(Debug)]
pub enum Event<'a> {
    /// A copy is finished.
    Done(&'a TransferResult),
    /// Progress of all current copies, every few seconds.
    Progress(&'a [TransferProgress]),
}

/// Progress of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferProgress {
    /// Name of the image.
    pub image: String,
    /// Bytes that are complete.
    pub done: u64,
    /// Total bytes. 0 until the total is known.
    pub total: u64,
}

/// Copies all images, either completely or, with `platform`, only for that platform. The result has
/// one entry per job, in the same order.
pub async fn transfer(
    client: &Client,
    jobs: Vec<Job>,
    platform: Option<&Platform>,
    watch: &mut (dyn FnMut(Event<'_>) + Send),
) -> Vec<TransferResult> {
    let mut results: Vec<Option<TransferResult>> = jobs.iter().map(|_| None).collect();
    let mut waiting = jobs.into_iter().enumerate();
    let mut running = JoinSet::new();
    let mut underway: BTreeMap<usize, (String, Arc<Progress>)> = BTreeMap::new();
    let mut look = tokio::time::interval_at(tokio::time::Instant::now() + LOOK_EVERY, LOOK_EVERY);
    loop {
        while running.len() < AT_ONCE
            && let Some((at, job)) = waiting.next()
        {
            let progress = Arc::new(Progress::default());
            underway.insert(at, (job.image.clone(), Arc::clone(&progress)));
            let (client, platform) = (client.clone(), platform.cloned());
            running.spawn(async move { (at, run(&client, job, platform.as_ref(), &progress).await) });
        }
        tokio::select! {
            next = running.join_next() => {
                let Some(next) = next else { break };
                // Our tasks do not panic and are not aborted. If it happens, `lost` reports the
                // image as failed.
                let Ok((at, result)) = next else { continue };
                underway.remove(&at);
                watch(Event::Done(&result));
                if let Some(slot) = results.get_mut(at) {
                    *slot = Some(result);
                }
            }
            _ = look.tick() => {
                let entry = |(image, progress): &(String, Arc<Progress>)| {
                    let (done, total) = progress.bytes();
                    TransferProgress { image: image.clone(), done, total }
                };
                let entries: Vec<TransferProgress> = underway.values().map(entry).collect();
                watch(Event::Progress(&entries));
            }
        }
    }
    let lost = |at: usize| {
        let image = underway.get(&at).map(|(image, _)| image.clone()).unwrap_or_default();
        let error =
            Cause::Malformed("the task that copied it ended without a result".into()).of(format!("copy `{image}`"));
        TransferResult { target: image.clone(), image, digest: None, whole: false, outcome: Outcome::Failed(error) }
    };
    results.into_iter().enumerate().map(|(at, result)| result.unwrap_or_else(|| lost(at))).collect()
}

async fn run(client: &Client, job: Job, platform: Option<&Platform>, progress: &Progress) -> TransferResult {
    let (digest, whole, outcome) = match copy(client, &job, platform, progress).await {
        Ok(Done { digest, whole, copied }) => (Some(digest), whole, copied.map_or(Outcome::There, Outcome::Copied)),
        Err(error) => (None, false, Outcome::Failed(error)),
    };
    let target = match job.to {
        Target::Registry(reference) => reference.bare(),
        Target::Layout(_, name) => name,
    };
    TransferResult { image: job.image, target, digest, whole, outcome }
}

/// A complete copy: the manifest at the target, and what was copied, which is `None` if the target
/// already had the image.
struct Done {
    digest: Digest,
    whole: bool,
    copied: Option<Copied>,
}

async fn copy(
    client: &Client,
    job: &Job,
    platform: Option<&Platform>,
    progress: &Progress,
) -> Result<Done, RegistryError> {
    let (from, root, by_digest) = match &job.from {
        Source::Registry(reference) => {
            let root = client.manifest(reference).await?;
            (Storage::Registry(client.clone(), reference.clone()), root, reference.digest().is_some())
        }
        Source::Layout(layout, descriptor) => {
            let from = Storage::Layout(layout.clone());
            let root = from.manifest(descriptor).await?;
            (from, root, false)
        }
    };
    // Users of an image by digest request the same digest at the target.
    let whole = by_digest && platform.is_some();
    let root = match platform.filter(|_| !by_digest) {
        Some(platform) => Image::read(&from, root, Some(platform)).await?.raw().clone(),
        None => root,
    };
    let copied = match &job.to {
        Target::Layout(layout, name) => {
            let copied = copy_image(&from, &root, &Storage::Layout(layout.clone()), progress).await?;
            let listed = list(layout, name, root.descriptor())
                .map_err(|cause| cause.of(format!("list `{name}` in layout `{}`", layout.dir().display())))?;
            (listed || copied.blobs > 0).then_some(copied)
        }
        Target::Registry(to) => into_registry(client, &from, &root, to, progress).await?,
    };
    Ok(Done { digest: root.digest, whole, copied })
}

/// Adds an image to the index of a layout, unless it is listed. Returns whether it was added.
fn list(layout: &Layout, name: &str, mut descriptor: Descriptor) -> Result<bool, Cause> {
    descriptor.annotations.insert(media::CONTAINERD_NAME.into(), name.to_owned());
    let is_same = |entry: &Descriptor| {
        entry.digest == descriptor.digest && entry.annotations.get(media::REF_NAME).is_some_and(|there| there == name)
    };
    if layout.index()?.manifests.iter().any(is_same) {
        return Ok(false);
    }
    layout.list(descriptor, Some(name))?;
    Ok(true)
}

async fn into_registry(
    client: &Client,
    from: &Storage,
    root: &RawManifest,
    to: &Reference,
    progress: &Progress,
) -> Result<Option<Copied>, RegistryError> {
    let target = if to.tag().is_some() { to.tagged() } else { to.by_digest(root.digest) };
    // A registry accepts a manifest only with everything that it references. Other errors than
    // not-found are ignored here, because some registries answer 401 for a repository that does not
    // exist. A real problem shows up again when something is written.
    if client.manifest(&target).await.is_ok_and(|there| there.digest == root.digest) {
        return Ok(None);
    }
    let copied = copy_image(from, root, &Storage::Registry(client.clone(), to.clone()), progress).await?;
    if target.tag().is_some() {
        client.put_manifest(&target, root).await?;
    }
    Ok(Some(copied))
}

/// State of an image in a registry.
#[derive(Debug)]
pub enum State {
    /// The image exists and is the same, or the same for one platform.
    Same(Digest),
    /// The image exists, but its source is not known or not available.
    There(Digest, Option<RegistryError>),
    /// The image does not exist.
    Missing,
    /// The image exists but differs from its source.
    Differs {
        /// Digest in the registry.
        there: Digest,
        /// Expected digest.
        wanted: Digest,
    },
    /// The registry returned an error.
    Unknown(RegistryError),
}

/// Reads `target` from the registry and compares it with the image at `from`.
pub async fn compare(client: &Client, from: Option<&Source>, target: &Reference) -> State {
    let there = match client.manifest(target).await {
        Ok(there) => there,
        Err(error) if error.is_not_found() => return State::Missing,
        Err(error) => return State::Unknown(error),
    };
    let wanted = match from {
        None => return State::There(there.digest, None),
        Some(Source::Registry(reference)) => client.manifest(reference).await,
        Some(Source::Layout(layout, descriptor)) => Storage::Layout(layout.clone()).manifest(descriptor).await,
    };
    match wanted {
        Err(error) => State::There(there.digest, Some(error)),
        Ok(wanted) if is_same(&there, &wanted) => State::Same(there.digest),
        Ok(wanted) => State::Differs { there: there.digest, wanted: wanted.digest },
    }
}

/// Returns whether both are identical, or `there` is one of the platforms of `wanted`. The latter
/// is the result of a copy for one platform.
fn is_same(there: &RawManifest, wanted: &RawManifest) -> bool {
    there.digest == wanted.digest
        || matches!(&wanted.manifest, Manifest::Index(index) if index.manifests.iter().any(|one| one.digest == there.digest))
}

impl State {
    /// Returns whether an error means that the registry is unreachable. In that case, further
    /// requests for other images only take time.
    pub fn is_out_of_reach(error: &RegistryError) -> bool {
        matches!(*error.cause, Cause::Connection(_) | Cause::Slow(_))
    }
}
