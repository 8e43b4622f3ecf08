//! Which tests are required: a file, the suite's own image, or what comes with this program.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use plumbline_app::AppError;
use plumbline_app::modules::cache_root;
use plumbline_app::runtime::runtime;
use plumbline_conformance::images::{Listing, SUITE_PROGRAM, listing, local_platform, program, suite_image};
use plumbline_conformance::submission::{Release, Required};
use plumbline_kubernetes::ServerVersion;
use plumbline_registry::{Client, Reference};

use crate::args::{RequiredArgs, RequiredFrom};
use crate::ui::say;

/// Bytes of a `conformance.yaml`.
const MAX_BYTES: u64 = 16 << 20;

/// The tests that `release` requires; `None` where nobody said and none came along. `version` is the suite's version in full, if it is known.
pub(super) fn required(
    args: &RequiredArgs,
    release: Release,
    version: Option<&str>,
) -> Result<Option<Required>, AppError> {
    match &args.required {
        None => Required::embedded(release).map_err(|error| {
            AppError::system("the list of required tests in this program cannot be read").because(&error)
        }),
        Some(RequiredFrom::File(path)) => from_file(path, release).map(Some),
        Some(RequiredFrom::Image(reference)) => from_image(args, reference.as_deref(), release, version).map(Some),
    }
}

fn from_file(path: &Path, release: Release) -> Result<Required, AppError> {
    let wrong = |error: &dyn std::error::Error| {
        AppError::usage(format!("the list of required tests in `{}` cannot be used", path.display()))
            .because(error)
            .hint("it is `test/conformance/testdata/conformance.yaml` of Kubernetes, at that version")
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| wrong(&error))?;
    Required::from_yaml(&text, release, path.display().to_string()).map_err(|error| wrong(&error))
}

/// Asks the suite's program, which is taken out of its image and executed here.
fn from_image(
    args: &RequiredArgs,
    reference: Option<&str>,
    release: Release,
    version: Option<&str>,
) -> Result<Required, AppError> {
    let image = match (reference, version) {
        (Some(reference), _) => reference.to_owned(),
        (None, Some(version)) => {
            // Without what vendors append; an image of a pre-release is under its whole name.
            let known = ServerVersion::parse(version).map(|version| version.image_version());
            suite_image(known.as_deref().unwrap_or(version))
        }
        (None, None) => {
            return Err(AppError::usage(format!("it is not known which image has the suite of {release}"))
                .hint(format!("name it: `--required image:{}`", suite_image("vX.Y.Z"))));
        }
    };
    let wrong = |error: &dyn std::error::Error| {
        AppError::system(format!("the required tests cannot be had from image `{image}`"))
            .because(error)
            .hint("`--required FILE` takes the `conformance.yaml` of that version of Kubernetes")
    };
    let place = Reference::of_image(&image)
        .map_err(|error| AppError::usage(format!("`{image}` is not an image")).because(&error))?;
    let cache = cache_root().ok_or_else(|| {
        AppError::usage("there is no place for programs of images").hint("set `HOME` or `XDG_CACHE_HOME`")
    })?;
    say(&format!("asking the suite in `{image}` which tests are required"));
    let platform = local_platform().map_err(|error| wrong(&error))?;
    let client = Client::new(args.registry.settings()).map_err(|error| wrong(&error))?;
    let text = runtime()?.block_on(async {
        let program =
            program(&client, &place, &platform, SUITE_PROGRAM, &cache).await.map_err(|error| wrong(&error))?;
        listing(&program.path, Listing::ConformanceTests, None).await.map_err(|error| wrong(&error))
    })?;
    Required::from_yaml(&text, release, format!("image {image}")).map_err(|error| wrong(&error))
}
