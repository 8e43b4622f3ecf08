//! Concurrent copies of many images. A failure does not stop the others, and each result is
//! reported.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plumbline_registry::{
    Cause, Client, Copied, Descriptor, Digest, Image, Layout, Platform, Progress, RawManifest, Reference,
    RegistryError, Storage, copy_image,
};
use tokio::task::JoinSet;

/// Number of concurrent copies. It is enough to use the bandwidth while one copy waits for a
/// response, and low enough not to look like an attack.
const AT_ONCE: usize = 4;
/// Interval of progress events.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// Annotation that containerd uses as the name of an imported image.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

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
    let mut underway: HashMap<usize, (String, Arc<Progress>)> = HashMap::new();
    let mut look = tokio::time::interval_at(tokio::time::Instant::now() + LOOK_EVERY, LOOK_EVERY);
    loop {
        while running.len() < AT_ONCE
            && let Some((at, job)) = waiting.next()
        {
            let progress = Arc::new(Progress::default());
            underway.insert(at, (job.image.clone(), Arc::clone(&progress)));
            let (client, platform) = (client.clone(), platform.cloned());
            running.spawn(async move {
                let done = one(&client, &job, platform.as_ref(), &progress).await;
                (at, job, done)
            });
        }
        tokio::select! {
            next = running.join_next() => {
                let Some(next) = next else { break };
                // Our tasks do not panic and are not aborted. If it happens, `lost` reports the
                // image as failed.
                let Ok((at, job, done)) = next else { continue };
                underway.remove(&at);
                let moved = finished(job, done);
                watch(Event::Done(&moved));
                if let Some(slot) = results.get_mut(at) {
                    *slot = Some(moved);
                }
            }
            _ = look.tick() => {
                let mut entries: Vec<(usize, TransferProgress)> = underway.iter().map(|(at, (image, progress))| {
                    let (done, total) = progress.bytes();
                    (*at, TransferProgress { image: image.clone(), done, total })
                }).collect();
                entries.sort_by_key(|(at, _)| *at);
                let entries: Vec<TransferProgress> = entries.into_iter().map(|(_, entry)| entry).collect();
                watch(Event::Progress(&entries));
            }
        }
    }
    let lost = |at: usize| {
        let image = underway.get(&at).map(|(image, _)| image.clone()).unwrap_or_default();
        let error = Cause::Malformed("its copy ended without an answer".into()).of(format!("copy `{image}`"));
        TransferResult { target: image.clone(), image, digest: None, whole: false, outcome: Outcome::Failed(error) }
    };
    results.into_iter().enumerate().map(|(at, moved)| moved.unwrap_or_else(|| lost(at))).collect()
}

/// Result of a copy.
struct Done {
    root: Descriptor,
    whole: bool,
    /// `None` if the target already had the image.
    copied: Option<Copied>,
}

/// Adds an image to the index of a layout. This happens in one task, because concurrent changes
/// would lose entries.
fn finished(job: Job, done: Result<Done, RegistryError>) -> TransferResult {
    let Job { image, to, .. } = job;
    let target = match &to {
        Target::Registry(reference) => reference.bare(),
        Target::Layout(_, name) => name.clone(),
    };
    let listed = done.and_then(|done| match &to {
        Target::Registry(_) => Ok(done),
        Target::Layout(layout, name) => list(layout, name, done),
    });
    match listed {
        Err(error) => TransferResult { image, target, digest: None, whole: false, outcome: Outcome::Failed(error) },
        Ok(Done { root, whole, copied }) => {
            let outcome = copied.map_or(Outcome::There, Outcome::Copied);
            TransferResult { image, target, digest: Some(root.digest), whole, outcome }
        }
    }
}

fn list(layout: &Layout, name: &str, done: Done) -> Result<Done, RegistryError> {
    let failed = |cause: Cause| cause.of(format!("list `{name}` in layout `{}`", layout.dir().display()));
    let entries = layout.index().map_err(failed)?.manifests;
    let mut descriptor = done.root.clone();
    descriptor.annotations.insert(CONTAINERD_NAME.into(), name.to_owned());
    let listed = entries.iter().any(|there| {
        there.digest == descriptor.digest
            && there.annotations.get(plumbline_registry::media::REF_NAME).is_some_and(|there| there == name)
    });
    let nothing_new = done.copied.is_some_and(|copied| copied.blobs == 0);
    if listed {
        return Ok(Done { copied: done.copied.filter(|_| !nothing_new), ..done });
    }
    layout.list(descriptor, Some(name)).map_err(failed)?;
    Ok(done)
}

async fn one(
    client: &Client,
    job: &Job,
    platform: Option<&Platform>,
    progress: &Progress,
) -> Result<Done, RegistryError> {
    let (place, root, by_digest) = match &job.from {
        Source::Registry(reference) => {
            let root = client.manifest(reference).await?;
            (Storage::Registry(client.clone(), reference.clone()), root, reference.digest().is_some())
        }
        Source::Layout(layout, descriptor) => {
            let place = Storage::Layout(layout.clone());
            let root = place.manifest(descriptor).await?;
            (place, root, false)
        }
    };
    // Users of an image by digest request the same digest at the target.
    let whole = by_digest && platform.is_some();
    let root = match platform.filter(|_| !by_digest) {
        Some(platform) => Image::read(&place, root, Some(platform)).await?.raw().clone(),
        None => root,
    };
    match &job.to {
        Target::Layout(layout, _) => {
            let copied = copy_image(&place, &root, &Storage::Layout(layout.clone()), progress).await?;
            Ok(Done { root: root.descriptor(), whole, copied: Some(copied) })
        }
        Target::Registry(to) => into_registry(client, &place, &root, to, whole, progress).await,
    }
}

async fn into_registry(
    client: &Client,
    from: &Storage,
    root: &RawManifest,
    to: &Reference,
    whole: bool,
    progress: &Progress,
) -> Result<Done, RegistryError> {
    let tagged = match to.tag() {
        Some(tag) => to.with_tag(tag).map_err(|error| Cause::from(error).of(format!("name `{to}`")))?,
        None => to.by_digest(root.digest),
    };
    // A registry accepts a manifest only with everything that it references. Other errors than
    // not-found are ignored here, because some registries answer 401 for a repository that does not
    // exist. A real problem shows up again when something is written.
    if client.manifest(&tagged).await.is_ok_and(|there| there.digest == root.digest) {
        return Ok(Done { root: root.descriptor(), whole, copied: None });
    }
    let copied = copy_image(from, root, &Storage::Registry(client.clone(), to.clone()), progress).await?;
    if tagged.tag().is_some() {
        client.put_manifest(&tagged, root).await?;
    }
    Ok(Done { root: root.descriptor(), whole, copied: Some(copied) })
}
