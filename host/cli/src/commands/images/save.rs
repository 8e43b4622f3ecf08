//! `plumbline images save`, `pull`: onto disk.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::{registry, registry_error};
use plumbline_conformance::images::{Job, Source, Target};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Client, Layout, write_archive};

use super::ask::reference;
use super::layout::own_layout;
use super::{gather, report};
use crate::args::{DataFormat, ImagesOut, ImagesPullArgs, ImagesSaveArgs};
use crate::context::context;

/// Downloads that are not whole yet stand in the layout, whose disk has room for them.
const SCRATCH: &str = ".incomplete";

/// Copies the images into a layout.
pub(super) fn save(args: &ImagesSaveArgs) -> Result<ExitCode, AppError> {
    let output = &args.output;
    if args.out.dry_run {
        return planned(&args.out, args.format);
    }
    if !output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar")) {
        return fill(&args.out, output, args.format)?.report.print(Some(&output.display().to_string()));
    }
    // Kept beside the archive until that is written: what was broken off goes on from there.
    let mut dir = output.clone().into_os_string();
    dir.push(".incomplete");
    let dir = PathBuf::from(dir);
    // Claimed until the directory is gone.
    let Filled { report, _claim } = fill(&args.out, &dir, args.format)?;
    if !report.is_complete() {
        return report.print(Some(&format!("{} (the archive is written when all of them are there)", dir.display())));
    }
    let layout = Layout::open(&dir).map_err(|cause| failed(cause, &dir))?;
    // In there until it is whole, and not beside: what a process leaves that is killed meanwhile has the size of all images.
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
    report.print(Some(&format!("{} ({})", output.display(), Bytes(bytes))))
}

/// Copies the images into the user's own layout.
pub(super) fn pull(args: &ImagesPullArgs) -> Result<ExitCode, AppError> {
    if args.out.dry_run {
        return planned(&args.out, args.output.format);
    }
    let dir = own_layout()?;
    fs::create_dir_all(&dir)
        .map_err(|error| AppError::system(format!("failed to create directory `{}`", dir.display())).because(&error))?;
    fill(&args.out, &dir, args.output.format)?.report.print(Some(&dir.display().to_string()))
}

fn failed(cause: Cause, path: &Path) -> AppError {
    registry_error(&cause.of(format!("write layout `{}`", path.display())))
}

/// Which images would be copied; nothing is made on disk but what the suite's program is kept in.
fn planned(args: &ImagesOut, format: DataFormat) -> Result<ExitCode, AppError> {
    let context = context(&args.set.registry);
    let mut gathered = gather::gather(&context, &args.set)?;
    runtime()?.block_on(async {
        if let Some(suite) = gathered.ask.take() {
            gather::ask_suite(&context, &args.set, &registry::client(&context)?, &suite, None, &mut gathered.set)
                .await?;
        }
        let same = |image: &str| {
            let reference = reference(image)?;
            Ok(Job {
                image: image.to_owned(),
                from: Source::Registry(reference.clone()),
                to: Target::Registry(reference),
            })
        };
        let jobs = gathered.set.images().iter().map(|one| same(&one.image)).collect::<Result<Vec<_>, AppError>>()?;
        report::planned(&jobs, format)
    })
}

/// A layout that was written, and what keeps others away from it.
struct Filled {
    report: report::Report,
    _claim: Option<File>,
}

/// Keeps others away from a layout until the file is closed: they would remove what is not whole yet, and the later list would forget
/// what stands in the earlier one.
fn claim(dir: &Path) -> Result<Option<File>, AppError> {
    // SourceKind a directory cannot be locked, nobody is kept away.
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

fn fill(args: &ImagesOut, dir: &Path, format: DataFormat) -> Result<Filled, AppError> {
    let context = context(&args.set.registry);
    let mut gathered = gather::gather(&context, &args.set)?;
    let layout = Layout::create(dir).map_err(|cause| failed(cause, dir))?;
    let scratch = dir.join(SCRATCH);
    let unusable = |error: std::io::Error| {
        AppError::system(format!("directory `{}` cannot be used", scratch.display())).because(&error)
    };
    let claim = claim(dir)?;
    // What was broken off left pieces that nobody goes on with: contents are begun anew.
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(unusable)?;
    }
    fs::create_dir_all(&scratch).map_err(unusable)?;
    layout.sweep().map_err(|cause| failed(cause, dir))?;
    let report = runtime()?.block_on(async {
        let mut settings = context.registries.clone();
        settings.scratch = Some(scratch.clone());
        let client = Client::new(settings).map_err(|error| registry_error(&error))?;
        if let Some(suite) = gathered.ask.take() {
            gather::ask_suite(&context, &args.set, &client, &suite, None, &mut gathered.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in gathered.set.images() {
            let from = Source::Registry(reference(&wanted.image)?);
            let to = Target::Layout(layout.clone(), wanted.image.clone());
            jobs.push(Job { image: wanted.image, from, to });
        }
        Ok(report::run(&client, jobs, args.platform.as_ref(), format).await)
    })?;
    fs::remove_dir_all(&scratch).map_err(unusable)?;
    Ok(Filled { report, _claim: claim })
}
