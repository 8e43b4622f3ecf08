//! What the program in the suite's image says of the suite. It is somebody else's, and is run on this machine: that is said.

use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::Context;
use plumbline_app::modules::cache_root;
use plumbline_app::sources::registry_error;
use plumbline_conformance::images::{Listing, ProgramError, SUITE_PROGRAM, listing, local_platform, program};
use plumbline_registry::{Client, Reference};

/// Asks the program in `image` for a list. `registries` is the file of registries that it gets; `hint` says what else could be done.
pub(crate) async fn ask(
    context: &Context,
    client: &Client,
    image: &str,
    what: Listing,
    registries: Option<&Path>,
    hint: &str,
) -> Result<String, AppError> {
    let reference: Reference = reference(image)?;
    let failed = |error: &ProgramError| match error {
        ProgramError::Image(error) => registry_error(error),
        ProgramError::Machine(_) => AppError::usage("the suite cannot be asked here").because(error).hint(hint),
        ProgramError::Cache { .. } => AppError::system(format!("failed to {error}")),
    };
    let platform = local_platform().map_err(|error| failed(&error))?;
    let cache = cache_root().ok_or_else(|| {
        AppError::usage("there is no place for programs of images").hint("set `HOME` or `XDG_CACHE_HOME`")
    })?;
    let found = program(client, &reference, &platform, SUITE_PROGRAM, &cache).await.map_err(|error| failed(&error))?;
    let from = if found.cached { "" } else { ", taken out of it" };
    context.reporter.progress(&format!(
        "`{image}` is {}: its program is run on this machine{from}: `{} {}`",
        found.manifest,
        found.path.display(),
        what.argument()
    ));
    let listed = listing(&found.path, what, registries).await;
    listed.map_err(|error| AppError::system(format!("failed to {error}")).hint(hint))
}

/// The image that `text` names.
pub(super) fn reference(text: &str) -> Result<Reference, AppError> {
    Reference::of_image(text).map_err(|error| AppError::usage(format!("`{text}` is not an image")).because(&error))
}
