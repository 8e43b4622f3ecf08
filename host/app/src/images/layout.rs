//! Copies of images in layouts and archives on disk.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use plumbline_conformance::images::{Job, Source, Target, TransferResult};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Client, Layout, Platform, write_archive};

use super::select::{ImageOptions, ask_suite, reference, select};
use super::{copy_with, is_complete, list};
use crate::context::Context;
use crate::error::AppError;
use crate::runtime::runtime;
use crate::sources::registry_error;

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
///
/// # Errors
/// The images cannot be selected, or the layout cannot be written.
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
        let written = format!("{} (the archive is written when all of them are there)", dir.display());
        return Ok(Saved { moved, written });
    }
    let layout = Layout::open(&dir).map_err(|cause| failed(cause, &dir))?;
    // Written inside the directory first, so that a killed process leaves nothing next to it.
    let whole = dir.join(SCRATCH).join("archive");
    let unwritable = |error: std::io::Error| {
        AppError::system(format!("failed to write archive `{}`", output.display())).because(&error)
    };
    fs::create_dir_all(dir.join(SCRATCH)).map_err(unwritable)?;
    let bytes = write_archive(&layout, &whole).map_err(|cause| failed(cause, output))?;
    fs::rename(&whole, output).map_err(unwritable)?;
    fs::remove_dir_all(&dir).map_err(|error| {
        AppError::system(format!("failed to remove directory `{}`, which is no longer needed", dir.display()))
            .because(&error)
    })?;
    Ok(Saved { moved, written: format!("{} ({})", output.display(), Bytes(bytes)) })
}

/// Copies the images into the user's own layout.
///
/// # Errors
/// As for [`save`], and if the user has no data directory.
pub fn pull(context: &Context, options: &ImageOptions, platform: Option<&Platform>) -> Result<Saved, AppError> {
    let dir = own_layout()?;
    fs::create_dir_all(&dir)
        .map_err(|error| AppError::system(format!("failed to create directory `{}`", dir.display())).because(&error))?;
    let moved = fill(context, options, &dir, platform)?.moved;
    Ok(Saved { moved, written: dir.display().to_string() })
}

/// The images that [`save`] and [`pull`] would copy.
///
/// # Errors
/// The images cannot be selected.
pub fn save_jobs(context: &Context, options: &ImageOptions) -> Result<Vec<Job>, AppError> {
    let job = |image: &str| {
        let reference = reference(image)?;
        let (from, to) = (Source::Registry(reference.clone()), Target::Registry(reference));
        Ok(Job { image: image.to_owned(), from, to })
    };
    list(context, options)?.set.images().iter().map(|one| job(&one.image)).collect()
}

fn failed(cause: Cause, path: &Path) -> AppError {
    registry_error(&cause.of(format!("write layout `{}`", path.display())))
}

/// A layout that was written, and its lock.
struct Filled {
    moved: Vec<TransferResult>,
    _lock: Option<File>,
}

/// Locks a layout until the file is closed. Two processes would remove each other's incomplete
/// downloads and overwrite each other's index.
fn lock(dir: &Path) -> Result<Option<File>, AppError> {
    // Some file systems cannot lock directories.
    let Ok(there) = File::open(dir) else { return Ok(None) };
    match there.try_lock() {
        Ok(()) => Ok(Some(there)),
        Err(TryLockError::Error(_)) => Ok(None),
        Err(TryLockError::WouldBlock) => {
            Err(AppError::usage(format!("somebody else is copying images into `{}`", dir.display()))
                .hint("wait until that is done, or name another place"))
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
    let unusable = |error: std::io::Error| {
        AppError::system(format!("directory `{}` cannot be used", scratch.display())).because(&error)
    };
    let lock = lock(dir)?;
    // Incomplete downloads start again.
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(unusable)?;
    }
    fs::create_dir_all(&scratch).map_err(unusable)?;
    layout.sweep().map_err(|cause| failed(cause, dir))?;
    let moved = runtime()?.block_on(async {
        let mut settings = context.registries.clone();
        settings.scratch = Some(scratch.clone());
        let client = Client::new(settings).map_err(|error| registry_error(&error))?;
        if let Some(suite) = selected.ask.take() {
            ask_suite(context, options, &client, &suite, None, &mut selected.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in selected.set.images() {
            let from = Source::Registry(reference(&wanted.image)?);
            let to = Target::Layout(layout.clone(), wanted.image.clone());
            jobs.push(Job { image: wanted.image, from, to });
        }
        Ok(copy_with(context, &client, jobs, platform).await)
    })?;
    fs::remove_dir_all(&scratch).map_err(unusable)?;
    Ok(Filled { moved, _lock: lock })
}

/// The directory of the images that `pull` downloads and `push` uploads (XDG Base Directory
/// Specification).
pub(super) fn own_layout() -> Result<PathBuf, AppError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("plumbline/images")).ok_or_else(|| {
        AppError::usage("there is no directory to keep images in: there is no home")
            .hint("say where: set `XDG_DATA_HOME` to a directory")
    })
}
