//! Copies of images into registries.

use std::collections::BTreeMap;
use std::path::Path;

use plumbline_conformance::images::{Job, Prefix, Source, Target, rewrite};
use plumbline_core::text;
use plumbline_registry::{Cause, Layout, OpenedLayout, Reference, open_layout};

use super::layout::own_layout;
use super::select::{ImageOptions, reference};
use crate::context::Context;
use crate::error::AppError;
use crate::sources::registry_error;

/// The copies of the selected images into the registry `to`.
///
/// # Errors
/// As for [`list`](super::list), and if two images would have the same name.
pub fn copy_jobs(context: &Context, options: &ImageOptions, to: &Prefix) -> Result<Vec<Job>, AppError> {
    let mut jobs = Vec::new();
    for wanted in super::list(context, options)?.set.images() {
        let from = Source::Registry(reference(&wanted.image)?);
        let target = Target::Registry(reference(&rewrite(&wanted.image, to))?);
        jobs.push(Job { image: wanted.image, from, to: target });
    }
    one_source_each(&mut jobs)?;
    Ok(jobs)
}

/// The copies of the images in a layout. The layout stays open as long as this exists.
pub struct LoadJobs {
    /// One for each image.
    pub jobs: Vec<Job>,
    _layout: OpenedLayout,
}

/// The copies of the images in the layout or archive `from` into the registry `to`.
///
/// # Errors
/// The layout cannot be read, or two images would have the same name.
pub fn load_jobs(context: &Context, from: &Path, to: &Prefix) -> Result<LoadJobs, AppError> {
    let opened = open(from)?;
    let mut jobs = Vec::new();
    for (name, source) in entries(context, opened.layout(), from)? {
        let target = Target::Registry(reference(&rewrite(&name, to))?);
        jobs.push(Job { image: name, from: source, to: target });
    }
    one_source_each(&mut jobs)?;
    Ok(LoadJobs { jobs, _layout: opened })
}

/// The copies of the images that [`pull`](super::pull) has downloaded into the registry `to`.
///
/// # Errors
/// As for [`load_jobs`], and if no image was downloaded.
pub fn push_jobs(context: &Context, to: &Prefix) -> Result<LoadJobs, AppError> {
    let dir = own_layout()?;
    if !dir.exists() {
        return Err(AppError::usage(format!("there are no images in `{}`", dir.display()))
            .hint("`plumbline images pull` brings them there"));
    }
    load_jobs(context, &dir, to)
}

pub(super) fn open(path: &Path) -> Result<OpenedLayout, AppError> {
    // Next to it, because an archive of all images can be larger than the file system for temporary
    // files.
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open_layout(path, Some(beside)).map_err(|cause| unreadable(cause, path))
}

fn unreadable(cause: Cause, path: &Path) -> AppError {
    registry_error(&cause.of(format!("read layout `{}`", path.display())))
}

/// The images of a layout by name. Entries without the name of an image are left out, which is
/// reported.
pub(super) fn entries(context: &Context, layout: &Layout, path: &Path) -> Result<Vec<(String, Source)>, AppError> {
    let mut found = Vec::new();
    for entry in layout.entries().map_err(|cause| unreadable(cause, path))? {
        let name = entry.name.unwrap_or_default();
        let shown = text::excerpt(&name, 300);
        // Other programs write layouts whose entries have only a tag.
        match name.parse::<Reference>() {
            Ok(_) => found.push((name, Source::Layout(layout.clone(), Box::new(entry.descriptor)))),
            Err(error) => {
                context.reporter.progress(&format!("left out: `{shown}` ({}): {error}", entry.descriptor.digest))
            }
        }
    }
    if found.is_empty() {
        return Err(AppError::usage(format!("layout `{}` has no image with a name", path.display())));
    }
    Ok(found)
}

/// Checks that no two images have the same name without their registries. An image with a digest
/// gives up a tag that it would share.
fn one_source_each(jobs: &mut [Job]) -> Result<(), AppError> {
    let tagged = |job: &Job| match &job.to {
        Target::Registry(target) => {
            target.tag().map(|tag| (target.registry().to_owned(), target.repository().to_owned(), tag.to_owned()))
        }
        Target::Layout(..) => None,
    };
    let mut wanted: BTreeMap<_, usize> = BTreeMap::new();
    for name in jobs.iter().filter_map(tagged) {
        *wanted.entry(name).or_default() += 1;
    }
    for job in jobs.iter_mut() {
        let shared = tagged(job).and_then(|name| wanted.get(&name)).is_some_and(|count| *count > 1);
        if let Target::Registry(target) = &mut job.to
            && let Some(digest) = target.digest().filter(|_| shared)
        {
            *target = target.by_digest(digest);
        }
    }
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for job in jobs.iter() {
        let Target::Registry(target) = &job.to else { continue };
        // Images with the same digest are equal.
        if target.digest().is_some() {
            continue;
        }
        if let Some(other) = seen.insert(target.bare(), &job.image) {
            return Err(AppError::usage(format!(
                "`{other}` and `{}` would have the same name there: `{}`",
                job.image,
                target.bare()
            ))
            .hint("copy one of them to a place of its own, and name that in the definition that needs it"));
        }
    }
    Ok(())
}
