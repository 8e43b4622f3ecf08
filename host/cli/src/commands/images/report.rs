//! What is told of images that are copied: a line for each when it is done, how far the others are, and a summary.

use std::io::Write;
use std::process::ExitCode;

use plumbline_app::AppError;
use plumbline_app::report::print_json;
use plumbline_conformance::images::{Event, Job, Moved, Outcome, Target, transfer};
use plumbline_core::size::Bytes;
use plumbline_registry::{Cause, Client, Platform, RegistryError};
use serde_json::{Value, json};

use crate::args::DataFormat;
use crate::error::SYSTEM;
use crate::ui::say;

/// What became of all of them.
pub(super) struct Report {
    moved: Vec<Moved>,
    format: DataFormat,
}

/// Copies all of them, and tells of it.
pub(super) async fn run(client: &Client, jobs: Vec<Job>, platform: Option<&Platform>, format: DataFormat) -> Report {
    let all = jobs.len();
    let mut done = 0;
    let mut watch = |event: Event<'_>| match event {
        Event::Done(moved) => {
            done += 1;
            say(&format!("[{done}/{all}] {}", line(moved)));
        }
        Event::Underway(entries) => {
            for entry in entries {
                let of = if entry.total > 0 { format!(" of {}", Bytes(entry.total)) } else { String::new() };
                say(&format!("  {}{of} of `{}`", Bytes(entry.done), entry.image));
            }
        }
    };
    let moved = transfer(client, jobs, platform, &mut watch).await;
    Report { moved, format }
}

/// Prints what would be copied.
pub(super) fn planned(jobs: &[Job], format: DataFormat) -> Result<ExitCode, AppError> {
    let target = |job: &Job| match &job.to {
        Target::Registry(reference) => reference.bare(),
        Target::Layout(_, name) => name.clone(),
    };
    let mut out = anstream::stdout().lock();
    let printed = match format {
        DataFormat::Json => {
            let images: Vec<Value> =
                jobs.iter().map(|job| json!({"image": job.image, "target": target(job)})).collect();
            print_json(&json!({"images": images}), &mut out)
        }
        DataFormat::Text => {
            jobs.iter().try_for_each(|job| writeln!(out, "would be copied: {}", named(&job.image, &target(job))))
        }
    };
    printed.map_err(|error| AppError::printing("what would be done cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// An image, and its name at the other place where that is another.
fn named(image: &str, target: &str) -> String {
    if image == target { format!("`{image}`") } else { format!("`{image}` to `{target}`") }
}

fn line(moved: &Moved) -> String {
    let Moved { image, target, digest, whole, outcome } = moved;
    let named = named(image, target);
    let digest = digest.map(|digest| format!(" is {digest}")).unwrap_or_default();
    let whole = if *whole { ", for all platforms: it is named by its digest" } else { "" };
    match outcome {
        Outcome::Copied(copied) => format!("copied: {named}{digest} ({}){whole}", Bytes(copied.bytes)),
        Outcome::There => format!("there already: {named}{digest}{whole}"),
        Outcome::Failed(error) => format!("failed: {named}: failed to {}: {}", error.what, error.cause),
    }
}

impl Report {
    fn failed(&self) -> impl Iterator<Item = &RegistryError> {
        self.moved.iter().filter_map(|one| match &one.outcome {
            Outcome::Failed(error) => Some(error),
            _ => None,
        })
    }

    /// Whether all are there now.
    pub(super) fn is_complete(&self) -> bool {
        self.failed().next().is_none()
    }

    /// Prints what was done, with `written` about a file that was made of it; the exit code.
    pub(super) fn print(&self, written: Option<&str>) -> Result<ExitCode, AppError> {
        let copied = self.moved.iter().filter(|one| matches!(one.outcome, Outcome::Copied(_))).count();
        let there = self.moved.iter().filter(|one| matches!(one.outcome, Outcome::There)).count();
        let failed = self.failed().count();
        let bytes: u64 = self
            .moved
            .iter()
            .map(|one| match &one.outcome {
                Outcome::Copied(copied) => copied.bytes,
                _ => 0,
            })
            .sum();
        let mut out = anstream::stdout().lock();
        let printed = match self.format {
            DataFormat::Json => {
                let images: Vec<Value> = self.moved.iter().map(data).collect();
                let document =
                    json!({"images": images, "copied": copied, "there": there, "failed": failed, "bytes": bytes});
                print_json(&document, &mut out)
            }
            DataFormat::Text => {
                let end = written.map(|path| format!("written: {path}\n")).unwrap_or_default();
                write!(
                    out,
                    "{} images: {copied} copied ({}), {there} there already, {failed} failed\n{end}",
                    self.moved.len(),
                    Bytes(bytes)
                )
            }
        };
        printed.map_err(|error| AppError::printing("what was done cannot be printed", &error))?;
        for hint in self.hints() {
            say(&format!("hint:  {hint}"));
        }
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(SYSTEM) })
    }

    /// What to do about those that failed, each once.
    fn hints(&self) -> Vec<String> {
        let mut hints: Vec<String> = Vec::new();
        for error in self.failed() {
            let hint = match &*error.cause {
                Cause::Kind(told) if told.contains("kept by somebody else") => {
                    Some("of images with such layers, one platform can be copied: `--platform linux/amd64`".to_owned())
                }
                _ => error.hint(),
            };
            hints.extend(hint.filter(|hint| !hints.contains(hint)));
        }
        if !self.is_complete() {
            hints.push("the same command again copies what is missing".to_owned());
        }
        hints
    }
}

fn data(one: &Moved) -> Value {
    let (outcome, bytes, error) = match &one.outcome {
        Outcome::Copied(copied) => ("copied", copied.bytes, None),
        Outcome::There => ("there", 0, None),
        Outcome::Failed(error) => ("failed", 0, Some(format!("failed to {}: {}", error.what, error.cause))),
    };
    json!({
        "image": one.image, "target": one.target, "digest": one.digest, "outcome": outcome, "bytes": bytes, "error": error,
    })
}
