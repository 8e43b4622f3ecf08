//! Tests out of the suite's image: its program lists them.

use plumbline_conformance::images::{
    Listing, ProgramError, SUITE_PROGRAM, listing, local_platform, program, suite_image,
};
use plumbline_conformance::lists::{TestList, from_program};
use plumbline_registry::Reference;

use crate::args::E2eArgs;
use crate::commands::images::{own, wait};
use crate::error::CliError;
use crate::sources::remote::{client, registry_error, use_registries};
use crate::ui::say;

/// What else could be asked.
const HINT: &str = "where the image cannot be had or its program not be run: `e2e.test --list-tests` prints the names elsewhere, and `--input -` reads them";

/// The image that `--input` names: `image`, or `image:REFERENCE`.
pub(super) fn is_image(input: &str) -> bool {
    input == "image" || input.starts_with("image:")
}

/// The tests that the program in the image names. It is somebody else's, and is run on this machine: it is said.
pub(super) fn read(args: &E2eArgs, version: Option<&str>) -> Result<TestList, CliError> {
    use_registries(&args.registry);
    let image = match (args.input.strip_prefix("image:"), version) {
        (Some(image), _) => image.to_owned(),
        (None, Some(version)) => suite_image(version),
        (None, None) => {
            return Err(CliError::usage("of which version the suite's image is wanted is not said")
                .hint("add `--version v1.30.2`, or `--version auto` to ask the cluster, or name the image: `--input image:REFERENCE`"));
        }
    };
    let reference = Reference::of_image(&image)
        .map_err(|error| CliError::usage(format!("`{image}` is no image")).because(&error))?;
    let failed = |error: &ProgramError| match error {
        ProgramError::Image(error) => registry_error(error),
        ProgramError::Machine(_) => {
            CliError::usage("the suite cannot be asked for its tests here").because(error).hint(HINT)
        }
        _ => CliError::system(format!("failed to {error}")),
    };
    let platform = local_platform().map_err(|error| failed(&error))?;
    let cache = own("XDG_CACHE_HOME", ".cache")?;
    let output = wait(async {
        let found =
            program(&client()?, &reference, &platform, SUITE_PROGRAM, &cache).await.map_err(|error| failed(&error))?;
        say(&format!(
            "`{image}` is {}: its program is run on this machine: `{} {}`",
            found.manifest,
            found.path.display(),
            Listing::Tests.argument()
        ));
        let listed = listing(&found.path, Listing::Tests, None).await;
        listed.map_err(|error| CliError::system(format!("failed to {error}")).hint(HINT))
    })?;
    from_program(&output, version.unwrap_or_default(), &image)
        .map_err(|error| CliError::usage("the suite names no tests").because(&error).hint(HINT))
}
