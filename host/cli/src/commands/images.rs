//! `plumbline images`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::images::{self, CheckOptions, CheckedImage, ImageOptions, named};
use plumbline_app::{AppError, Context};
use plumbline_conformance::images::{Job, Outcome, Prefix, State, Target, TransferResult};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Digest, Platform, RegistryError};
use serde_json::{Value, json};

use crate::args::shared::{OutputArgs, RegistryArgs, RemoteArgs, context};
use crate::error::{FAILED, SYSTEM};
use crate::output::Out;
use crate::ui::say;

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List the images that a run needs, and why
    List(ImagesListArgs),
    /// Copy the images from their registries to another registry
    Copy {
        /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
        #[arg(long, value_name = "PREFIX")]
        to: Prefix,
        #[command(flatten)]
        out: ImagesOut,
    },
    /// Copy the images to an OCI layout on disk: a directory or a tar
    Save {
        /// Target: an archive if the name ends in `.tar`, otherwise a directory, which is created,
        /// or extended if it is an OCI layout
        #[arg(short, long, value_name = "FILE.tar|DIR")]
        file: PathBuf,
        #[command(flatten)]
        out: ImagesOut,
    },
    /// Copy the images of an OCI layout to a registry
    Load {
        /// An OCI layout: a directory, or a tar of one
        #[arg(value_name = "FILE.tar|DIR")]
        from: PathBuf,
        /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
        #[arg(long, value_name = "PREFIX")]
        to: Prefix,
        #[command(flatten)]
        how: ImagesIn,
    },
    /// Copy the images to the OCI layout of your user, for `images push`
    Pull(ImagesOut),
    /// Copy the images that `images pull` saved to a registry
    Push {
        /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
        #[arg(long = "custom-registry", visible_alias = "to", value_name = "PREFIX")]
        to: Prefix,
        #[command(flatten)]
        how: ImagesIn,
    },
    /// Check that a registry has all images, with the same content
    // Sonobuoy looks with `inspect` whether images are there.
    #[command(alias = "inspect")]
    Check(ImagesCheckArgs),
}

/// The images of a command: those of a run, or those named on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImageSetArgs {
    #[command(flatten)]
    pub(crate) options: ImageOptions,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesOut {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    /// Copy only this platform of multi-platform images; this changes the digest to that of the
    /// platform's manifest
    #[arg(long, value_name = "OS/ARCHITECTURE")]
    pub(crate) platform: Option<Platform>,
    /// Print what would be copied, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesIn {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Print what would be copied, and exit
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesListArgs {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesCheckArgs {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    #[command(flatten)]
    pub(crate) options: CheckOptions,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn images(command: &ImagesCommand) -> Result<ExitCode, AppError> {
    match command {
        ImagesCommand::List(args) => list(args),
        ImagesCommand::Copy { to, out: ImagesOut { set, platform, dry_run, output } } => {
            let context = context(&set.registry);
            let jobs = images::copy_jobs(&context, &set.options, to)?;
            if *dry_run {
                return print_planned(&jobs, *output);
            }
            print_moved(&images::copy(&context, jobs, platform.as_ref())?, *output, None)
        }
        ImagesCommand::Save { file, out } => {
            save(out, |context, options| images::save(context, options, file, out.platform.as_ref()))
        }
        ImagesCommand::Pull(args) => {
            save(args, |context, options| images::pull(context, options, args.platform.as_ref()))
        }
        ImagesCommand::Load { from, to, how } => load(how, |context| images::load_jobs(context, from, to)),
        ImagesCommand::Push { to, how } => load(how, |context| images::push_jobs(context, to)),
        ImagesCommand::Check(args) => {
            let context = context(&args.set.registry);
            print_checked(args, &images::check(&context, &args.set.options, &args.options)?)
        }
    }
}

fn list(args: &ImagesListArgs) -> Result<ExitCode, AppError> {
    let selected = images::list(&context(&args.set.registry), &args.set.options)?;
    let images = selected.set.images();
    let left_out: Vec<_> = selected.set.left_out().collect();
    let data = json!({"kubernetesVersion": selected.version, "images": images, "leftOut": left_out});
    let list = |out: &mut Out| images.iter().try_for_each(|one| writeln!(out, "{}", one.image));
    args.output.print("failed to print the images", &data, list)?;
    if !args.output.is_json() {
        for one in left_out {
            say(&format!("left out: {}: {}", one.image, one.reason));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies images to disk, or prints which would be copied.
fn save(
    args: &ImagesOut,
    save: impl FnOnce(&Context, &ImageOptions) -> Result<images::Saved, AppError>,
) -> Result<ExitCode, AppError> {
    let (context, options) = (context(&args.set.registry), &args.set.options);
    if args.dry_run {
        return print_planned(&images::save_jobs(&context, options)?, args.output);
    }
    let saved = save(&context, options)?;
    print_moved(&saved.moved, args.output, Some(&saved.written))
}

/// Copies images from disk into a registry, or prints which would be copied.
fn load(
    args: &ImagesIn,
    jobs: impl FnOnce(&Context) -> Result<images::LoadJobs, AppError>,
) -> Result<ExitCode, AppError> {
    let context = context(&args.remote.registry);
    let mut load = jobs(&context)?;
    if args.dry_run {
        return print_planned(&load.jobs, args.remote.output);
    }
    print_moved(&images::copy(&context, std::mem::take(&mut load.jobs), None)?, args.remote.output, None)
}

fn print_planned(jobs: &[Job], output: OutputArgs) -> Result<ExitCode, AppError> {
    let target = |job: &Job| match &job.to {
        Target::Registry(reference) => reference.bare(),
        Target::Layout(_, name) => name.clone(),
    };
    let images: Vec<Value> = jobs.iter().map(|job| json!({"image": job.image, "target": target(job)})).collect();
    output.print("failed to print the plan", &json!({"images": images}), |out| {
        jobs.iter().try_for_each(|job| writeln!(out, "would be copied: {}", named(&job.image, &target(job))))
    })
}

fn failed(moved: &[TransferResult]) -> impl Iterator<Item = &RegistryError> {
    moved.iter().filter_map(|one| match &one.outcome {
        Outcome::Failed(error) => Some(error),
        _ => None,
    })
}

/// Prints the outcome, with the file that was written. Returns the exit code.
fn print_moved(moved: &[TransferResult], output: OutputArgs, written: Option<&str>) -> Result<ExitCode, AppError> {
    let copied = moved.iter().filter(|one| matches!(one.outcome, Outcome::Copied(_))).count();
    let present = moved.iter().filter(|one| matches!(one.outcome, Outcome::There)).count();
    let failed = failed(moved).count();
    let bytes: u64 =
        moved.iter().map(|one| if let Outcome::Copied(copied) = &one.outcome { copied.bytes } else { 0 }).sum();
    let images: Vec<Value> = moved.iter().map(moved_data).collect();
    let data = json!({"images": images, "copied": copied, "present": present, "failed": failed, "bytes": bytes});
    output.print("failed to print the result", &data, |out| {
        let (end, size) = (written.map(|path| format!("written: {path}\n")).unwrap_or_default(), Bytes(bytes));
        let all = moved.len();
        write!(out, "{all} images: {copied} copied ({size}), {present} already present, {failed} failed\n{end}")
    })?;
    for hint in hints(moved) {
        say(&format!("hint:  {hint}"));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(SYSTEM) })
}

/// Hints about failures, without repetitions.
fn hints(moved: &[TransferResult]) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for error in failed(moved) {
        let hint = match &*error.cause {
            Cause::Kind(message) if message.contains("is stored outside of the registry") => {
                Some("copy a single platform of images with such layers: `--platform linux/amd64`".to_owned())
            }
            _ => error.hint(),
        };
        hints.extend(hint.filter(|hint| !hints.contains(hint)));
    }
    if failed(moved).next().is_some() {
        hints.push("run the same command again to copy what is missing".to_owned());
    }
    hints
}

fn moved_data(one: &TransferResult) -> Value {
    let (outcome, bytes, error) = match &one.outcome {
        Outcome::Copied(copied) => ("copied", copied.bytes, None),
        Outcome::There => ("present", 0, None),
        Outcome::Failed(error) => ("failed", 0, Some(format!("failed to {}: {}", error.what, error.cause))),
    };
    json!({
        "image": one.image, "target": one.target, "digest": one.digest, "outcome": outcome, "bytes": bytes, "error": error,
    })
}

fn checked_data(one: &CheckedImage) -> Value {
    let (state, _) = one.describe();
    let (there, wanted): (Option<Digest>, Option<Digest>) = match &one.state {
        State::Same(digest) => (Some(*digest), Some(*digest)),
        State::There(digest, _) => (Some(*digest), None),
        State::Differs { there, wanted } => (Some(*there), Some(*wanted)),
        State::Missing | State::Unknown(_) => (None, None),
    };
    let error = match &one.state {
        State::Unknown(error) | State::There(_, Some(error)) => {
            Some(format!("failed to {}: {}", error.what, error.cause))
        }
        _ => None,
    };
    json!({"image": one.image, "target": one.target, "state": state, "digest": there, "wanted": wanted, "error": error})
}

fn print_checked(args: &ImagesCheckArgs, found: &[CheckedImage]) -> Result<ExitCode, AppError> {
    let count = |wanted: &str| found.iter().filter(|one| one.describe().0 == wanted).count();
    let [same, present, missing, different, unknown] =
        ["same", "present", "missing", "different", "unknown"].map(count);
    let data = json!({
        "images": found.iter().map(checked_data).collect::<Vec<_>>(),
        "same": same, "present": present, "missing": missing, "different": different, "unknown": unknown,
    });
    args.output.print("failed to print the result", &data, |out| {
        found.iter().try_for_each(|one| writeln!(out, "{}", one.describe().1))?;
        writeln!(
            out,
            "{} images: {same} the same, {present} present, {missing} missing, {different} different, {unknown} unknown",
            found.len()
        )
    })?;
    if let Some(prefix) = args.options.prefix.as_ref().filter(|_| missing + different > 0) {
        say(&format!(
            "hint:  copy them with `plumbline images copy --to {prefix}` or `plumbline images load … --to {prefix}`"
        ));
    }
    Ok(match (missing + different, unknown) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(SYSTEM),
        _ => ExitCode::from(FAILED),
    })
}
