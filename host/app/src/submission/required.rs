//! The tests that a release requires: from a file, from the suite's image, or built in.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use plumbline_conformance::images::{Listing, SUITE_PROGRAM, listing, local_platform, program, suite_image};
use plumbline_conformance::submission::{Release, Required};
use plumbline_kubernetes::ServerVersion;
use plumbline_registry::{Client, Reference};

use crate::context::Context;
use crate::error::AppError;
use crate::modules::cache_root;
use crate::runtime::runtime;

/// The largest `conformance.yaml`, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The source of a list of required tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredFrom {
    /// A file.
    File(PathBuf),
    /// The image of the suite, by default that of the version that ran.
    Image(Option<String>),
}

/// Reads the tests that `release` requires. `None` if no source is given and no list is built in.
/// `version` is the full version of the suite, if it is known.
///
/// # Errors
/// The list cannot be read, or the image cannot be asked.
pub fn required(
    context: &Context,
    from: Option<&RequiredFrom>,
    release: Release,
    version: Option<&str>,
) -> Result<Option<Required>, AppError> {
    match from {
        None => Required::embedded(release).map_err(|error| {
            AppError::system("the list of required tests in this program cannot be read").because(&error)
        }),
        Some(RequiredFrom::File(path)) => from_file(path, release).map(Some),
        Some(RequiredFrom::Image(reference)) => from_image(context, reference.as_deref(), release, version).map(Some),
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

/// Asks the program of the suite, which is extracted from its image and runs on this machine.
fn from_image(
    context: &Context,
    reference: Option<&str>,
    release: Release,
    version: Option<&str>,
) -> Result<Required, AppError> {
    let image = match (reference, version) {
        (Some(reference), _) => reference.to_owned(),
        (None, Some(version)) => {
            // Without the suffixes of vendors. Images of pre-releases have their full version.
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
    context.reporter.progress(&format!("asking the suite in `{image}` which tests are required"));
    let platform = local_platform().map_err(|error| wrong(&error))?;
    let client = Client::new(context.registries.clone()).map_err(|error| wrong(&error))?;
    let text = runtime()?.block_on(async {
        let program =
            program(&client, &place, &platform, SUITE_PROGRAM, &cache).await.map_err(|error| wrong(&error))?;
        listing(&program.path, Listing::ConformanceTests, None).await.map_err(|error| wrong(&error))
    })?;
    Required::from_yaml(&text, release, format!("image {image}")).map_err(|error| wrong(&error))
}
