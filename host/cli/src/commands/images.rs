//! `plumbline images`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use plumbline_app::images::{self, CheckOptions, CheckedImage, ImageOptions, named};
use plumbline_app::report::print_json;
use plumbline_app::{AppError, Context};
use plumbline_conformance::images::{Job, Outcome, Prefix, State, Target, TransferResult};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Digest, Platform, RegistryError};
use serde_json::{Value, json};

use crate::args::shared::{DataFormat, OutputArgs, RegistryArgs, context};
use crate::error::SYSTEM;
use crate::output::print;
use crate::ui::say;

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesArgs {
    #[command(subcommand)]
    pub(crate) command: ImagesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesCommand {
    /// List the images that a run needs, and why
    List(ImagesListArgs),
    /// Copy the images from their registries to another registry
    Copy(ImagesCopyArgs),
    /// Copy the images to an OCI layout on disk: a directory or a tar
    Save(ImagesSaveArgs),
    /// Copy the images of an OCI layout to a registry
    Load(ImagesLoadArgs),
    /// Copy the images to your own layout, for `push`
    Pull(ImagesPullArgs),
    /// Copy the images of the last `pull` to a registry
    Push(ImagesPushArgs),
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
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImagesIn {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) registry: RegistryArgs,
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
pub(crate) struct ImagesCopyArgs {
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long, value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesSaveArgs {
    /// Target: an archive if the name ends in `.tar`, otherwise a directory, which is created, or
    /// extended if it is an OCI layout
    #[arg(short, long, value_name = "FILE.tar|DIR")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesLoadArgs {
    /// An OCI layout: a directory, or a tar of one
    #[arg(value_name = "FILE.tar|DIR")]
    pub(crate) from: PathBuf,
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long, value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) how: ImagesIn,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesPullArgs {
    #[command(flatten)]
    pub(crate) out: ImagesOut,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesPushArgs {
    /// Target: `HOST[:PORT][/PATH]`; images keep their names below it, without their registry
    #[arg(long = "custom-registry", visible_alias = "to", value_name = "PREFIX")]
    pub(crate) to: Prefix,
    #[command(flatten)]
    pub(crate) how: ImagesIn,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesCheckArgs {
    #[command(flatten)]
    pub(crate) set: ImageSetArgs,
    /// Where to look for the images, as for `run --registry` [default: the registry of each image]
    #[arg(long = "registry", value_name = "PREFIX")]
    pub(crate) prefix: Option<Prefix>,
    /// Compare with the images of this OCI layout: a directory, or a tar
    #[arg(long, value_name = "FILE.tar|DIR", conflicts_with_all = ["images", "plugins", "kubernetes_version", "suite_list"])]
    pub(crate) from: Option<PathBuf>,
    /// Report only missing images; contact no other registry
    #[arg(long, conflicts_with = "from", requires = "prefix")]
    pub(crate) offline: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(crate) fn images(args: &ImagesArgs) -> Result<ExitCode, AppError> {
    match &args.command {
        ImagesCommand::List(args) => list(args),
        ImagesCommand::Copy(args) => {
            let context = context(&args.out.set.registry);
            let jobs = images::copy_jobs(&context, &args.out.set.options, &args.to)?;
            if args.out.dry_run {
                return print_planned(&jobs, args.output.format());
            }
            print_moved(&images::copy(&context, jobs, args.out.platform.as_ref())?, args.output.format(), None)
        }
        ImagesCommand::Save(args) => save(&args.out, args.output.format(), |context, options| {
            images::save(context, options, &args.file, args.out.platform.as_ref())
        }),
        ImagesCommand::Pull(args) => save(&args.out, args.output.format(), |context, options| {
            images::pull(context, options, args.out.platform.as_ref())
        }),
        ImagesCommand::Load(args) => load(&args.how, |context| images::load_jobs(context, &args.from, &args.to)),
        ImagesCommand::Push(args) => load(&args.how, |context| images::push_jobs(context, &args.to)),
        ImagesCommand::Check(args) => {
            let context = context(&args.set.registry);
            let options = CheckOptions {
                images: args.set.options.clone(),
                prefix: args.prefix.clone(),
                from: args.from.clone(),
                offline: args.offline,
            };
            print_checked(args, &images::check(&context, &options)?)
        }
    }
}

fn list(args: &ImagesListArgs) -> Result<ExitCode, AppError> {
    let selected = images::list(&context(&args.set.registry), &args.set.options)?;
    let images = selected.set.images();
    print("failed to print the images", |out| match args.output.format() {
        DataFormat::Json => print_json(
            &json!({
                "kubernetesVersion": selected.version,
                "images": images,
                "leftOut": selected.set.left_out().collect::<Vec<_>>(),
            }),
            out,
        ),
        DataFormat::Text => images.iter().try_for_each(|one| writeln!(out, "{}", one.image)),
    })?;
    if args.output.format() == DataFormat::Text {
        for one in selected.set.left_out() {
            say(&format!("left out: {}: {}", one.image, one.reason));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Copies images to disk, or prints which would be copied.
fn save(
    args: &ImagesOut,
    format: DataFormat,
    save: impl FnOnce(&Context, &ImageOptions) -> Result<images::Saved, AppError>,
) -> Result<ExitCode, AppError> {
    let (context, options) = (context(&args.set.registry), &args.set.options);
    if args.dry_run {
        return print_planned(&images::save_jobs(&context, options)?, format);
    }
    let saved = save(&context, options)?;
    print_moved(&saved.moved, format, Some(&saved.written))
}

/// Copies images from disk into a registry, or prints which would be copied.
fn load(
    args: &ImagesIn,
    jobs: impl FnOnce(&Context) -> Result<images::LoadJobs, AppError>,
) -> Result<ExitCode, AppError> {
    let context = context(&args.registry);
    let mut load = jobs(&context)?;
    if args.dry_run {
        return print_planned(&load.jobs, args.output.format());
    }
    print_moved(&images::copy(&context, std::mem::take(&mut load.jobs), None)?, args.output.format(), None)
}

/// Prints the planned copies.
fn print_planned(jobs: &[Job], format: DataFormat) -> Result<ExitCode, AppError> {
    let target = |job: &Job| match &job.to {
        Target::Registry(reference) => reference.bare(),
        Target::Layout(_, name) => name.clone(),
    };
    print("failed to print the plan", |out| match format {
        DataFormat::Json => {
            let images: Vec<Value> =
                jobs.iter().map(|job| json!({"image": job.image, "target": target(job)})).collect();
            print_json(&json!({"images": images}), out)
        }
        DataFormat::Text => {
            jobs.iter().try_for_each(|job| writeln!(out, "would be copied: {}", named(&job.image, &target(job))))
        }
    })
}

fn failed(moved: &[TransferResult]) -> impl Iterator<Item = &RegistryError> {
    moved.iter().filter_map(|one| match &one.outcome {
        Outcome::Failed(error) => Some(error),
        _ => None,
    })
}

/// Prints the outcome, with the file that was written. Returns the exit code.
fn print_moved(moved: &[TransferResult], format: DataFormat, written: Option<&str>) -> Result<ExitCode, AppError> {
    let copied = moved.iter().filter(|one| matches!(one.outcome, Outcome::Copied(_))).count();
    let present = moved.iter().filter(|one| matches!(one.outcome, Outcome::There)).count();
    let failed = failed(moved).count();
    let bytes: u64 =
        moved.iter().map(|one| if let Outcome::Copied(copied) = &one.outcome { copied.bytes } else { 0 }).sum();
    print("failed to print the result", |out| match format {
        DataFormat::Json => {
            let images: Vec<Value> = moved.iter().map(moved_data).collect();
            print_json(
                &json!({"images": images, "copied": copied, "present": present, "failed": failed, "bytes": bytes}),
                out,
            )
        }
        DataFormat::Text => {
            let end = written.map(|path| format!("written: {path}\n")).unwrap_or_default();
            write!(
                out,
                "{} images: {copied} copied ({}), {present} already present, {failed} failed\n{end}",
                moved.len(),
                Bytes(bytes)
            )
        }
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
    print("failed to print the result", |out| {
        match args.output.format() {
        DataFormat::Json => print_json(
            &json!({
                "images": found.iter().map(checked_data).collect::<Vec<_>>(),
                "same": same, "present": present, "missing": missing, "different": different, "unknown": unknown,
            }),
            out,
        ),
        DataFormat::Text => found.iter().try_for_each(|one| writeln!(out, "{}", one.describe().1)).and_then(|()| {
            writeln!(
                out,
                "{} images: {same} the same, {present} present, {missing} missing, {different} different, {unknown} unknown",
                found.len()
            )
        }),
    }
    })?;
    if let Some(prefix) = args.prefix.as_ref().filter(|_| missing + different > 0) {
        say(&format!(
            "hint:  copy them with `plumbline images copy --to {prefix}` or `plumbline images load … --to {prefix}`"
        ));
    }
    Ok(match (missing + different, unknown) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(SYSTEM),
        _ => ExitCode::from(1),
    })
}
