//! `plumbline images copy`, `load`, `push`: into a registry.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::{registry, registry_error};
use plumbline_conformance::images::{Job, Prefix, Source, Target, rewrite};
use plumbline_core::text;
use plumbline_registry::{Cause, Layout, OpenedLayout, Reference, open_layout};

use super::ask::reference;
use super::layout::own_layout;
use super::{gather, report};
use crate::args::{ImagesCopyArgs, ImagesIn, ImagesLoadArgs, ImagesPushArgs};
use crate::context::context;
use crate::ui::say;

/// Copies the images from their registries into another one.
pub(super) fn copy(args: &ImagesCopyArgs) -> Result<ExitCode, AppError> {
    let set = &args.out.set;
    let context = context(&set.registry);
    let mut gathered = gather::gather(&context, set)?;
    runtime()?.block_on(async {
        let client = registry::client(&context)?;
        if let Some(suite) = gathered.ask.take() {
            gather::ask_suite(&context, set, &client, &suite, None, &mut gathered.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in gathered.set.images() {
            let from = Source::Registry(reference(&wanted.image)?);
            let to = Target::Registry(reference(&rewrite(&wanted.image, &args.to))?);
            jobs.push(Job { image: wanted.image, from, to });
        }
        one_source_each(&mut jobs)?;
        if args.out.dry_run {
            return report::planned(&jobs, args.output.format);
        }
        report::run(&client, jobs, args.out.platform.as_ref(), args.output.format).await.print(None)
    })
}

/// Copies the images of a layout into a registry.
pub(super) fn load(args: &ImagesLoadArgs) -> Result<ExitCode, AppError> {
    into(&args.from, &args.to, &args.how)
}

/// Copies what `pull` has brought.
pub(super) fn push(args: &ImagesPushArgs) -> Result<ExitCode, AppError> {
    let dir = own_layout()?;
    if !dir.exists() {
        return Err(AppError::usage(format!("there are no images in `{}`", dir.display()))
            .hint("`plumbline images pull` brings them there"));
    }
    into(&dir, &args.to, &args.how)
}

fn into(from: &Path, to: &Prefix, how: &ImagesIn) -> Result<ExitCode, AppError> {
    let context = context(&how.registry);
    let opened = open(from)?;
    let mut jobs = Vec::new();
    for (name, source) in entries(opened.layout(), from)? {
        let to = Target::Registry(reference(&rewrite(&name, to))?);
        jobs.push(Job { image: name, from: source, to });
    }
    one_source_each(&mut jobs)?;
    let format = how.output.format;
    if how.dry_run {
        return report::planned(&jobs, format);
    }
    runtime()?.block_on(async {
        let client = registry::client(&context)?;
        report::run(&client, jobs, None, format).await.print(None)
    })
}

pub(super) fn open(path: &Path) -> Result<OpenedLayout, AppError> {
    // Beside it: an archive of all images is larger than what many machines have for temporary files.
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open_layout(path, Some(beside)).map_err(|cause| unreadable(cause, path))
}

fn unreadable(cause: Cause, path: &Path) -> AppError {
    registry_error(&cause.of(format!("read layout `{}`", path.display())))
}

/// The images of a layout by their names. What has no name of an image is told and left out.
pub(super) fn entries(layout: &Layout, path: &Path) -> Result<Vec<(String, Source)>, AppError> {
    let mut found = Vec::new();
    for entry in layout.entries().map_err(|cause| unreadable(cause, path))? {
        let name = entry.name.unwrap_or_default();
        let shown = text::excerpt(&name, 300);
        // With a registry in front: a layout that somebody else has made may have tags alone.
        match name.parse::<Reference>() {
            Ok(_) => found.push((name, Source::Layout(layout.clone(), Box::new(entry.descriptor)))),
            Err(error) => say(&format!("left out: `{shown}` ({}): {error}", entry.descriptor.digest)),
        }
    }
    if found.is_empty() {
        return Err(AppError::usage(format!("layout `{}` has no image with a name", path.display())));
    }
    Ok(found)
}

/// Without their registries, two images may have one name: then the second would take the place of the first. Those that are named by
/// their digests are found by them, whatever a tag stands for, and leave it to the one that has nothing else.
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
        // One digest is one content.
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
