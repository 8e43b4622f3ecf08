//! Copies of images: into registries, and into layouts and archives on disk.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use plumbline_bundle::user_dir;
use plumbline_conformance::images::{Job, Prefix, Source, Target, TransferResult, rewrite};
use plumbline_core::size::Bytes;
use plumbline_core::text;
use plumbline_registry::{Cause, Client, Layout, OpenedLayout, Platform, Reference, open_layout, write_archive};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::images::question::reference;
use crate::images::{ImageOptions, ask_suite, copy_with, is_complete, list, select};
use crate::runtime::runtime;

/// The copies of the selected images into the registry `to`.
pub fn copy_jobs(context: &Context, options: &ImageOptions, to: &Prefix) -> Result<Vec<Job>, AppError> {
    let mut jobs = Vec::new();
    for wanted in list(context, options)?.set.images() {
        let target = Target::Registry(reference(&rewrite(&wanted.image, to))?);
        jobs.push(from_registry(wanted.image, target)?);
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

/// The copies of the images that [`pull`] has downloaded into the registry `to`.
pub fn push_jobs(context: &Context, to: &Prefix) -> Result<LoadJobs, AppError> {
    let dir = own_layout()?;
    if !dir.exists() {
        return Err(AppError::usage(format!("no images in `{}`", dir.display()))
            .hint("download them with `plumbline images pull`"));
    }
    load_jobs(context, &dir, to)
}

pub(super) fn open(path: &Path) -> Result<OpenedLayout, AppError> {
    // Next to it, because an archive of all images can be larger than the file system for temporary
    // files.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open_layout(path, Some(directory)).map_err(|cause| unreadable(cause, path))
}

fn unreadable(cause: Cause, path: &Path) -> AppError {
    cause.of(format!("read layout `{}`", path.display())).into()
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
        return Err(AppError::usage(format!("layout `{}` has no image with a name", path.display()))
            .hint("download images with `plumbline images pull`"));
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
                "`{other}` and `{}` map to the same target `{}`",
                job.image,
                target.bare()
            ))
            .hint("copy one of them to another repository, and use it in the definition that needs it"));
        }
    }
    Ok(())
}

/// The directory for incomplete downloads, in the layout, whose file system has space for them.
const SCRATCH: &str = ".incomplete";

/// Images that were copied to disk.
pub struct Saved {
    /// The outcome of each image.
    pub moved: Vec<TransferResult>,
    /// The layout or archive, for messages.
    pub written: String,
}

/// Copies the images into the layout `output`, or into an archive if the path ends in `.tar`. An
/// interrupted copy continues from the directory next to the archive.
pub fn save(
    context: &Context,
    options: &ImageOptions,
    output: &Path,
    platform: Option<&Platform>,
) -> Result<Saved, AppError> {
    if !output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar")) {
        let moved = fill(context, options, output, platform)?.moved;
        return Ok(Saved { moved, written: output.display().to_string() });
    }
    let mut dir = output.to_owned().into_os_string();
    dir.push(".incomplete");
    let dir = PathBuf::from(dir);
    // Locked until the directory is removed.
    let Filled { moved, _lock } = fill(context, options, &dir, platform)?;
    if !is_complete(&moved) {
        let written = format!("{} (the archive is written once all images are copied)", dir.display());
        return Ok(Saved { moved, written });
    }
    let layout = Layout::open(&dir).map_err(|cause| failed(cause, &dir))?;
    // Written inside the directory first, so that a killed process leaves nothing next to it.
    let whole = dir.join(SCRATCH).join("archive");
    let unwritable = format!("failed to write archive `{}`", output.display());
    fs::create_dir_all(dir.join(SCRATCH)).system_error(&unwritable)?;
    let bytes = write_archive(&layout, &whole).map_err(|cause| failed(cause, output))?;
    fs::rename(&whole, output).system_error(&unwritable)?;
    fs::remove_dir_all(&dir)
        .system_error(format_args!("failed to remove directory `{}`, which is no longer needed", dir.display()))?;
    Ok(Saved { moved, written: format!("{} ({})", output.display(), Bytes(bytes)) })
}

/// Copies the images into the user's own layout.
pub fn pull(context: &Context, options: &ImageOptions, platform: Option<&Platform>) -> Result<Saved, AppError> {
    let dir = own_layout()?;
    fs::create_dir_all(&dir).system_error(format_args!("failed to create directory `{}`", dir.display()))?;
    let moved = fill(context, options, &dir, platform)?.moved;
    Ok(Saved { moved, written: dir.display().to_string() })
}

/// The images that [`save`] and [`pull`] would copy.
pub fn save_jobs(context: &Context, options: &ImageOptions) -> Result<Vec<Job>, AppError> {
    let job = |image: String| from_registry(image.clone(), Target::Registry(reference(&image)?));
    list(context, options)?.set.images().into_iter().map(|one| job(one.image)).collect()
}

fn from_registry(image: String, to: Target) -> Result<Job, AppError> {
    Ok(Job { from: Source::Registry(reference(&image)?), image, to })
}

fn failed(cause: Cause, path: &Path) -> AppError {
    cause.of(format!("write layout `{}`", path.display())).into()
}

struct Filled {
    moved: Vec<TransferResult>,
    _lock: Option<File>,
}

/// Locks a layout, into which `what` is copied, until the file is closed. Two processes would remove each
/// other's incomplete downloads and overwrite each other's index.
pub(crate) fn lock(dir: &Path, what: &str) -> Result<Option<File>, AppError> {
    // Some file systems cannot lock directories.
    let Ok(there) = File::open(dir) else { return Ok(None) };
    match there.try_lock() {
        Ok(()) => Ok(Some(there)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            Err(AppError::usage(format!("another process is copying {what} into `{}`", dir.display()))
                .hint("wait until it has finished, or choose another directory"))
        }
    }
}

fn fill(
    context: &Context,
    options: &ImageOptions,
    dir: &Path,
    platform: Option<&Platform>,
) -> Result<Filled, AppError> {
    let mut selected = select(context, options)?;
    let layout = Layout::create(dir).map_err(|cause| failed(cause, dir))?;
    let scratch = dir.join(SCRATCH);
    let unusable = format!("failed to use directory `{}`", scratch.display());
    let lock = lock(dir, "images")?;
    // Incomplete downloads start again.
    if scratch.exists() {
        fs::remove_dir_all(&scratch).system_error(&unusable)?;
    }
    fs::create_dir_all(&scratch).system_error(&unusable)?;
    layout.sweep().map_err(|cause| failed(cause, dir))?;
    let moved = runtime()?.block_on(async {
        let mut settings = context.registries.clone();
        settings.scratch = Some(scratch.clone());
        let client = Client::new(settings)?;
        for suite in &std::mem::take(&mut selected.ask) {
            ask_suite(context, options, &client, suite, None, &mut selected.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in selected.set.images() {
            let to = Target::Layout(layout.clone(), wanted.image.clone());
            jobs.push(from_registry(wanted.image, to)?);
        }
        Ok::<_, AppError>(copy_with(context, &client, jobs, platform).await)
    })?;
    fs::remove_dir_all(&scratch).system_error(&unusable)?;
    Ok(Filled { moved, _lock: lock })
}

/// The directory of the images that `pull` downloads and `push` uploads (XDG Base Directory
/// Specification).
pub(super) fn own_layout() -> Result<PathBuf, AppError> {
    user_dir("XDG_DATA_HOME", ".local/share").map(|data| data.join("plumbline/images")).ok_or_else(|| {
        AppError::usage("no directory for images: the home directory is unknown")
            .hint("set `XDG_DATA_HOME` to an absolute path")
    })
}
