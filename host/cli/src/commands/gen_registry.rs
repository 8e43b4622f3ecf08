//! Every image of a run from below one registry, and `plumbline gen default-image-config`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use plumbline_conformance::images::{self, Prefix};
use plumbline_core::config::Config;
use plumbline_core::definition::Definition;

use crate::args::GenImageConfigArgs;
use crate::error::CliError;

/// Variables by which a person tells the suite of registries: then it is not told otherwise.
const TOLD: [&str; 2] = ["KUBE_TEST_REPO", "KUBE_TEST_REPO_LIST"];

/// An image below `prefix`, if there is one.
pub(crate) fn image(image: &str, prefix: Option<&Prefix>) -> String {
    prefix.map_or_else(|| image.to_owned(), |prefix| images::rewrite(image, prefix))
}

/// The image of aggregator and workers below `prefix`.
pub(crate) fn run_image(config: &mut Config, prefix: Option<&Prefix>) {
    config.worker_image = image(&config.worker_image, prefix);
}

/// A definition with its images below `prefix`; `env` is what the command line adds to its environment.
pub(crate) fn redirected<'a>(
    definition: &'a Definition,
    prefix: Option<&Prefix>,
    env: &BTreeMap<String, String>,
) -> Result<Cow<'a, Definition>, CliError> {
    let Some(prefix) = prefix else { return Ok(Cow::Borrowed(definition)) };
    let tell = !TOLD.iter().any(|name| env.get(*name).is_some_and(|value| !value.is_empty()));
    let redirected = images::redirect(definition, prefix, tell).map_err(|error| {
        CliError::usage(format!("plugin `{}` cannot get its images from `{prefix}`", definition.name)).because(&error)
    })?;
    Ok(Cow::Owned(redirected))
}

/// Prints the file of registries.
pub(crate) fn image_config(args: &GenImageConfigArgs) -> Result<ExitCode, CliError> {
    let text = args.prefix.as_ref().map_or_else(images::defaults, images::repo_config);
    write!(std::io::stdout(), "{text}")
        .map_err(|error| CliError::printing("the file of registries cannot be printed", &error))?;
    Ok(ExitCode::SUCCESS)
}
