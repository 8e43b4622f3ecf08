//! The images of a run: which there are, and their copies in registries, layouts and archives.

mod check;
mod copy;
mod layout;
mod select;

use plumbline_conformance::images::{Event, Job, Outcome, TransferResult, transfer};
use plumbline_core::size::Bytes;
use plumbline_registry::{Client, Platform};

use crate::context::Context;
use crate::error::AppError;
use crate::runtime::runtime;
use crate::sources::registry;

pub use check::{CheckOptions, CheckedImage, check};
pub use copy::{LoadJobs, copy_jobs, load_jobs, push_jobs};
pub use layout::{Saved, pull, save, save_jobs};
pub(crate) use select::ask;
pub use select::{ImageOptions, SelectedImages};

/// Selects the images of a run, and asks the suite for those of its tests.
///
/// # Errors
/// A plugin or a version is not known, or the suite cannot be asked.
pub fn list(context: &Context, options: &ImageOptions) -> Result<SelectedImages, AppError> {
    let mut selected = select::select(context, options)?;
    if let Some(suite) = selected.ask.take() {
        runtime()?.block_on(async {
            let client = registry::client(context)?;
            select::ask_suite(context, options, &client, &suite, None, &mut selected.set).await
        })?;
    }
    Ok(selected)
}

/// Copies images, and reports each one that is done. The outcome of each is in the result.
///
/// # Errors
/// The settings of registries are invalid.
pub fn copy(context: &Context, jobs: Vec<Job>, platform: Option<&Platform>) -> Result<Vec<TransferResult>, AppError> {
    runtime()?.block_on(async {
        let client = registry::client(context)?;
        Ok(copy_with(context, &client, jobs, platform).await)
    })
}

async fn copy_with(
    context: &Context,
    client: &Client,
    jobs: Vec<Job>,
    platform: Option<&Platform>,
) -> Vec<TransferResult> {
    let all = jobs.len();
    let mut done = 0;
    let mut watch = |event: Event<'_>| match event {
        Event::Done(moved) => {
            done += 1;
            context.reporter.progress(&format!("[{done}/{all}] {}", line(moved)));
        }
        Event::Progress(entries) => {
            for entry in entries {
                let of = if entry.total > 0 { format!(" of {}", Bytes(entry.total)) } else { String::new() };
                context.reporter.progress(&format!("  {}{of} of `{}`", Bytes(entry.done), entry.image));
            }
        }
    };
    transfer(client, jobs, platform, &mut watch).await
}

/// The image, and its name in the target if that differs, for messages.
#[must_use]
pub fn named(image: &str, target: &str) -> String {
    if image == target { format!("`{image}`") } else { format!("`{image}` to `{target}`") }
}

fn line(moved: &TransferResult) -> String {
    let TransferResult { image, target, digest, whole, outcome } = moved;
    let named = named(image, target);
    let digest = digest.map(|digest| format!(" is {digest}")).unwrap_or_default();
    let whole = if *whole { ", for all platforms: it is named by its digest" } else { "" };
    match outcome {
        Outcome::Copied(copied) => format!("copied: {named}{digest} ({}){whole}", Bytes(copied.bytes)),
        Outcome::There => format!("there already: {named}{digest}{whole}"),
        Outcome::Failed(error) => format!("failed: {named}: failed to {}: {}", error.what, error.cause),
    }
}

/// Whether every image was copied.
fn is_complete(moved: &[TransferResult]) -> bool {
    !moved.iter().any(|one| matches!(one.outcome, Outcome::Failed(_)))
}
