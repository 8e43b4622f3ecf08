//! `plumbline images save`, `pull`: onto disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plumbline_conformance::images::{From, Job, To};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Client, Layout, Platform, write_archive};

use super::{gather, moves, own_layout, report, wait};
use crate::args::{DataFormat, ImageSetArgs, ImagesPullArgs, ImagesSaveArgs};
use crate::error::CliError;
use crate::sources::remote::{self, registry_error};

/// Downloads that are not whole yet stand in the layout, whose disk has room for them.
const SCRATCH: &str = ".incomplete";

/// Copies the images into a layout.
pub(super) fn save(args: &ImagesSaveArgs) -> Result<ExitCode, CliError> {
    let output = &args.output;
    if !output.extension().is_some_and(|end| end.eq_ignore_ascii_case("tar")) {
        return fill(&args.set, output, args.platform.as_ref(), args.format)?
            .print(Some(&output.display().to_string()));
    }
    // Kept beside the archive until that is written: what was broken off goes on from there.
    let mut dir = output.clone().into_os_string();
    dir.push(".incomplete");
    let dir = PathBuf::from(dir);
    let report = fill(&args.set, &dir, args.platform.as_ref(), args.format)?;
    if !report.is_complete() {
        return report.print(Some(&format!("{} (the archive is written when all of them are there)", dir.display())));
    }
    let layout = Layout::open(&dir).map_err(|cause| failed(cause, &dir))?;
    let bytes = write_archive(&layout, output).map_err(|cause| failed(cause, output))?;
    fs::remove_dir_all(&dir).map_err(|error| {
        CliError::system(format!("directory `{}` cannot be removed, and is not needed any more", dir.display()))
            .because(&error)
    })?;
    report.print(Some(&format!("{} ({})", output.display(), Bytes(bytes))))
}

/// Copies the images into the user's own layout.
pub(super) fn pull(args: &ImagesPullArgs) -> Result<ExitCode, CliError> {
    let dir = own_layout()?;
    fs::create_dir_all(&dir)
        .map_err(|error| CliError::system(format!("directory `{}` cannot be made", dir.display())).because(&error))?;
    let report = fill(&args.set, &dir, args.platform.as_ref(), args.output.format)?;
    report.print(Some(&dir.display().to_string()))
}

fn failed(cause: Cause, path: &Path) -> CliError {
    registry_error(&cause.of(format!("write layout `{}`", path.display())))
}

fn fill(
    args: &ImageSetArgs,
    dir: &Path,
    platform: Option<&Platform>,
    format: DataFormat,
) -> Result<report::Report, CliError> {
    remote::use_registries(&args.registry);
    let mut gathered = gather::gather(args)?;
    let layout = Layout::create(dir).map_err(|cause| failed(cause, dir))?;
    let scratch = dir.join(SCRATCH);
    let unusable = |error: std::io::Error| {
        CliError::system(format!("directory `{}` cannot be used", scratch.display())).because(&error)
    };
    fs::create_dir_all(&scratch).map_err(unusable)?;
    let report = wait(async {
        let mut settings = remote::settings();
        settings.scratch = Some(scratch.clone());
        let client = Client::new(settings).map_err(|error| registry_error(&error))?;
        if let Some(suite) = gathered.ask.take() {
            gather::ask_suite(args, &client, &suite, None, &mut gathered.set).await?;
        }
        let mut jobs = Vec::new();
        for wanted in gathered.set.images() {
            let from = From::Registry(moves::image(&wanted.image)?);
            let to = To::Layout(layout.clone(), wanted.image.clone());
            jobs.push(Job { image: wanted.image, from, to });
        }
        Ok(report::run(&client, jobs, platform, format).await)
    })?;
    fs::remove_dir_all(&scratch).map_err(unusable)?;
    Ok(report)
}
