//! Tests out of the suite's image: its program lists them.

use plumbline_app::AppError;
use plumbline_app::runtime::runtime;
use plumbline_app::sources::registry::client;
use plumbline_conformance::images::{Listing, suite_image};
use plumbline_conformance::lists::{TestList, from_program};

use crate::args::E2eArgs;
use crate::commands::images::ask;
use plumbline_app::Context;

/// What else could be asked.
const HINT: &str = "where the image cannot be had or its program not be run: `e2e.test --list-tests` prints the names elsewhere, and `--input -` reads them";

/// The image that `--input` names: `image`, or `image:REFERENCE`.
pub(super) fn is_image(input: &str) -> bool {
    input == "image" || input.starts_with("image:")
}

/// The tests that the program in the image names. It is somebody else's, and is run on this machine: it is said.
pub(super) fn read(context: &Context, args: &E2eArgs, version: Option<&str>) -> Result<TestList, AppError> {
    let image = match (args.input.strip_prefix("image:"), version) {
        (Some(image), _) => image.to_owned(),
        (None, Some(version)) => suite_image(version),
        (None, None) => {
            return Err(AppError::usage("of which version the suite's image is wanted is not said")
                .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster, or name the image: `--input image:REFERENCE`"));
        }
    };
    let output =
        runtime()?.block_on(async { ask(context, &client(context)?, &image, Listing::Tests, None, HINT).await })?;
    from_program(&output, version.unwrap_or_default(), &image)
        .map_err(|error| AppError::usage("the suite names no tests").because(&error).hint(HINT))
}
