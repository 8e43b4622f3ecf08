//! Asks the program in the image of a suite for a list.

use std::path::Path;

use plumbline_conformance::images::{ProgramError, listing, local_platform, program};
use plumbline_registry::{Client, Reference};

use crate::context::Context;
use crate::error::{AppError, Explain as _};
use crate::modules::cache_root;

/// A program in the image of a suite, and the arguments for a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    /// The path of the program in the image.
    pub(crate) program: &'a str,
    /// The arguments.
    pub(crate) args: &'a [String],
}

impl Question<'_> {
    /// The call of the program, for people who have it elsewhere.
    pub(crate) fn command(&self) -> String {
        let name = self.program.rsplit('/').next().unwrap_or(self.program);
        format!("{name} {}", self.args.join(" "))
    }
}

/// The error for a program that the user has not allowed. The author of a bundle chooses the image, the
/// program and its arguments. `alternative` is the alternative to the program.
pub(crate) fn not_allowed(summary: impl Into<String>, question: Question<'_>, alternative: &str) -> AppError {
    let command = question.command();
    AppError::usage(summary)
        .cause(format!("`{command}` would run on this machine, and the plugin that names its image is not built in"))
        .hint(format!("if you trust the plugin and its image, add `--run-program`; otherwise, {alternative}"))
}

/// Asks the program in `image` for a list. The program is third-party code that runs on this
/// machine, which is reported. `registries` is the file with registries for the program, `hint` the
/// alternative.
pub(crate) async fn ask(
    context: &Context,
    client: &Client,
    image: &str,
    question: Question<'_>,
    registries: Option<&Path>,
    hint: &str,
) -> Result<String, AppError> {
    let reference: Reference = reference(image)?;
    let failed = |error: ProgramError| match error {
        ProgramError::Image(error) => error.into(),
        ProgramError::Machine(_) => {
            AppError::usage("failed to run the program of the suite").because(&error).hint(hint)
        }
        ProgramError::Cache { .. } => AppError::system(format!("failed to {error}")),
    };
    let platform = local_platform().map_err(failed)?;
    let cache = cache_root().ok_or_else(|| {
        AppError::usage("no directory for programs of images: the cache directory is unknown")
            .hint("set `HOME` or `XDG_CACHE_HOME`")
    })?;
    let found = program(client, &reference, &platform, question.program, &cache).await.map_err(failed)?;
    let from = if found.cached { "" } else { ", extracted from it" };
    context.reporter.progress(&format!(
        "`{image}` is {}: running its program on this machine{from}: `{} {}`",
        found.manifest,
        found.path.display(),
        question.args.join(" ")
    ));
    let listed = listing(&found.path, question.args, registries).await;
    listed.map_err(|error| AppError::system(format!("failed to {error}")).hint(hint))
}

pub(crate) fn reference(text: &str) -> Result<Reference, AppError> {
    Reference::of_image(text)
        .usage_error(format_args!("invalid image `{text}`"))
        .hint("write an image with its registry, such as `registry.example.com/name:tag`")
}
