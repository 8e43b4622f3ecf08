//! `plumbline images copy`, `load`, `push`: into a registry.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use plumbline_conformance::images::{From, Job, Prefix, To, rewrite};
use plumbline_registry::{Cause, Layout, OpenedLayout, Reference, open_layout};

use super::{gather, own_layout, report, wait};
use crate::args::{DataFormat, ImagesCopyArgs, ImagesLoadArgs, ImagesPushArgs, RegistryArgs};
use crate::error::CliError;
use crate::sources::remote::{self, registry_error};
use crate::ui::say;

/// Copies the images from their registries into another one.
pub(super) fn copy(args: &ImagesCopyArgs) -> Result<ExitCode, CliError> {
    remote::use_registries(&args.set.registry);
    let mut gathered = gather::gather(&args.set)?;
    wait(async {
        let client = remote::client()?;
        if let Some(suite) = gathered.ask.take() {
            gather::ask_suite(&args.set, &client, &suite, None, &mut gathered.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in gathered.set.images() {
            let from = From::Registry(image(&wanted.image)?);
            let to = To::Registry(image(&rewrite(&wanted.image, &args.to))?);
            jobs.push(Job { image: wanted.image, from, to });
        }
        one_source_each(&jobs)?;
        report::run(&client, jobs, args.platform.as_ref(), args.output.format).await.print(None)
    })
}

/// Copies the images of a layout into a registry.
pub(super) fn load(args: &ImagesLoadArgs) -> Result<ExitCode, CliError> {
    into(&args.from, &args.to, &args.registry, args.output.format)
}

/// Copies what `pull` has brought.
pub(super) fn push(args: &ImagesPushArgs) -> Result<ExitCode, CliError> {
    let dir = own_layout()?;
    if !dir.exists() {
        return Err(CliError::usage(format!("there are no images in `{}`", dir.display()))
            .hint("`plumbline images pull` brings them there"));
    }
    into(&dir, &args.to, &args.registry, args.output.format)
}

fn into(from: &Path, to: &Prefix, registry: &RegistryArgs, format: DataFormat) -> Result<ExitCode, CliError> {
    remote::use_registries(registry);
    let opened = open(from)?;
    let mut jobs = Vec::new();
    for (name, source) in entries(opened.layout(), from)? {
        let to = To::Registry(image(&rewrite(&name, to))?);
        jobs.push(Job { image: name, from: source, to });
    }
    one_source_each(&jobs)?;
    wait(async {
        let client = remote::client()?;
        report::run(&client, jobs, None, format).await.print(None)
    })
}

pub(super) fn open(path: &Path) -> Result<OpenedLayout, CliError> {
    // Beside it: an archive of all images is larger than what many machines have for temporary files.
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open_layout(path, Some(beside)).map_err(|cause| unreadable(cause, path))
}

fn unreadable(cause: Cause, path: &Path) -> CliError {
    registry_error(&cause.of(format!("read layout `{}`", path.display())))
}

/// The images of a layout by their names. What has no name of an image is told and left out.
pub(super) fn entries(layout: &Layout, path: &Path) -> Result<Vec<(String, From)>, CliError> {
    let mut found = Vec::new();
    for entry in layout.entries().map_err(|cause| unreadable(cause, path))? {
        let name = entry.name.unwrap_or_default();
        let shown: String = name.chars().filter(|c| !c.is_control()).take(300).collect();
        // With a registry in front: a layout that somebody else has made may have tags alone.
        match name.parse::<Reference>() {
            Ok(_) => found.push((name, From::Layout(layout.clone(), Box::new(entry.descriptor)))),
            Err(error) => say(&format!("left out: `{shown}` ({}): {error}", entry.descriptor.digest)),
        }
    }
    if found.is_empty() {
        return Err(CliError::usage(format!("layout `{}` has no image with a name", path.display())));
    }
    Ok(found)
}

pub(super) fn image(text: &str) -> Result<Reference, CliError> {
    Reference::of_image(text).map_err(|error| CliError::usage(format!("`{text}` is no image")).because(&error))
}

/// Without their registries, two images may have one name: then the second would take the place of the first.
fn one_source_each(jobs: &[Job]) -> Result<(), CliError> {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for job in jobs {
        let To::Registry(target) = &job.to else { continue };
        if let Some(other) = seen.insert(target.bare(), &job.image) {
            return Err(CliError::usage(format!(
                "`{other}` and `{}` would have the same name there: `{}`",
                job.image,
                target.bare()
            ))
            .hint("copy one of them to a place of its own, and name that in the definition that needs it"));
        }
    }
    Ok(())
}
