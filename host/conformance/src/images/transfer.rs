//! Many images from one place to another: some at a time, all of them tried, each told of.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use plumbline_registry::{
    Cause, Client, Copied, Descriptor, Digest, Image, Layout, Place, Platform, Progress, RawManifest, Reference,
    RegistryError, copy_image,
};
use tokio::task::JoinSet;

/// Images that are copied at the same time: enough to fill a line while one waits for an answer, few enough not to be taken for an attack.
const AT_ONCE: usize = 4;
/// Between two looks at how far they are.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The annotation by which containerd names what it imports.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// Where an image is.
#[derive(Debug, Clone)]
pub enum From {
    /// In a registry.
    Registry(Reference),
    /// In a layout, as one of its entries.
    Layout(Layout, Box<Descriptor>),
}

/// Where an image goes.
#[derive(Debug, Clone)]
pub enum To {
    /// Into a registry, under the tag of the reference; without one, under its digest alone.
    Registry(Reference),
    /// Into a layout, under this name.
    Layout(Layout, String),
}

/// One image to copy.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its name, for people.
    pub image: String,
    /// Where it is.
    pub from: From,
    /// Where it goes.
    pub to: To,
}

/// What became of one.
#[derive(Debug)]
pub enum Outcome {
    /// It was copied, or what was missing of it.
    Copied(Copied),
    /// It was there, the same in every byte.
    There,
    /// It could not be copied.
    Failed(RegistryError),
}

/// An image, and what became of it.
#[derive(Debug)]
pub struct Moved {
    /// Its name.
    pub image: String,
    /// Its name at the other place.
    pub target: String,
    /// The digest that it has there, once that is known.
    pub digest: Option<Digest>,
    /// A platform was chosen, and the image was copied whole nevertheless, because it is named by the digest of all its platforms.
    pub whole: bool,
    /// What became of it.
    pub outcome: Outcome,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// One is done.
    Done(&'a Moved),
    /// How far those are that are being copied, every few seconds.
    Underway(&'a [Entry]),
}

/// An image that is being copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub image: String,
    /// Bytes that are in place.
    pub done: u64,
    /// All its bytes; 0 until that is known.
    pub total: u64,
}

/// Copies all of them, whole or, where `platform` is given, the one image of each for it. The result has one entry per job, in their order.
pub async fn transfer(
    client: &Client,
    jobs: Vec<Job>,
    platform: Option<&Platform>,
    watch: &mut (dyn FnMut(Event<'_>) + Send),
) -> Vec<Moved> {
    let mut results: Vec<Option<Moved>> = jobs.iter().map(|_| None).collect();
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
                // A task of ours does not panic and is not aborted; what became of its image is told below.
                let Ok((at, job, done)) = next else { continue };
                underway.remove(&at);
                let moved = finished(job, done);
                watch(Event::Done(&moved));
                if let Some(slot) = results.get_mut(at) {
                    *slot = Some(moved);
                }
            }
            _ = look.tick() => {
                let mut entries: Vec<(usize, Entry)> = underway.iter().map(|(at, (image, progress))| {
                    let (done, total) = progress.bytes();
                    (*at, Entry { image: image.clone(), done, total })
                }).collect();
                entries.sort_by_key(|(at, _)| *at);
                let entries: Vec<Entry> = entries.into_iter().map(|(_, entry)| entry).collect();
                watch(Event::Underway(&entries));
            }
        }
    }
    let lost = |at: usize| {
        let image = underway.get(&at).map(|(image, _)| image.clone()).unwrap_or_default();
        let error = Cause::Malformed("its copy ended without an answer".into()).of(format!("copy `{image}`"));
        Moved { target: image.clone(), image, digest: None, whole: false, outcome: Outcome::Failed(error) }
    };
    results.into_iter().enumerate().map(|(at, moved)| moved.unwrap_or_else(|| lost(at))).collect()
}

/// What a copy has come to.
struct Done {
    root: Descriptor,
    whole: bool,
    /// `None`: it was there.
    copied: Option<Copied>,
}

/// The lists of layouts are written here, one after the other: two at a time would lose one.
fn finished(job: Job, done: Result<Done, RegistryError>) -> Moved {
    let Job { image, to, .. } = job;
    let target = match &to {
        To::Registry(reference) => reference.bare(),
        To::Layout(_, name) => name.clone(),
    };
    let listed = done.and_then(|done| match &to {
        To::Registry(_) => Ok(done),
        To::Layout(layout, name) => list(layout, name, done),
    });
    match listed {
        Err(error) => Moved { image, target, digest: None, whole: false, outcome: Outcome::Failed(error) },
        Ok(Done { root, whole, copied }) => {
            let outcome = copied.map_or(Outcome::There, Outcome::Copied);
            Moved { image, target, digest: Some(root.digest), whole, outcome }
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
        From::Registry(reference) => {
            let root = client.manifest(reference).await?;
            (Place::Registry(client.clone(), reference.clone()), root, reference.digest().is_some())
        }
        From::Layout(layout, descriptor) => {
            let place = Place::Layout(layout.clone());
            let root = place.manifest(descriptor).await?;
            (place, root, false)
        }
    };
    // Whoever names it by its digest asks for that digest at the other place.
    let whole = by_digest && platform.is_some();
    let root = match platform.filter(|_| !by_digest) {
        Some(platform) => Image::read(&place, root, Some(platform)).await?.raw().clone(),
        None => root,
    };
    match &job.to {
        To::Layout(layout, _) => {
            let copied = copy_image(&place, &root, &Place::Layout(layout.clone()), progress).await?;
            Ok(Done { root: root.descriptor(), whole, copied: Some(copied) })
        }
        To::Registry(to) => into_registry(client, &place, &root, to, whole, progress).await,
    }
}

async fn into_registry(
    client: &Client,
    from: &Place,
    root: &RawManifest,
    to: &Reference,
    whole: bool,
    progress: &Progress,
) -> Result<Done, RegistryError> {
    let tagged = match to.tag() {
        Some(tag) => to.with_tag(tag).map_err(|error| Cause::from(error).of(format!("name `{to}`")))?,
        None => to.by_digest(root.digest),
    };
    // A registry has a manifest only with all that it names. One that says something else than that it is not there (some answer
    // strangers who ask for a repository that does not exist with 401) is asked again when something is written.
    if client.manifest(&tagged).await.is_ok_and(|there| there.digest == root.digest) {
        return Ok(Done { root: root.descriptor(), whole, copied: None });
    }
    let copied = copy_image(from, root, &Place::Registry(client.clone(), to.clone()), progress).await?;
    if tagged.tag().is_some() {
        client.put_manifest(&tagged, root).await?;
    }
    Ok(Done { root: root.descriptor(), whole, copied: Some(copied) })
}
