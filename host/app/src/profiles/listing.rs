//! Lists the tests of a profile: those in its bundle, or those that the program in its image prints.

use std::error::Error;

use plumbline_bundle::Bundle;
use plumbline_bundle::profile::{
    ListingFormat, MAX_TESTS, Place, Profile, Settings, VERSION_PLACEHOLDER, Version, parse_tests,
};
use plumbline_conformance::lists::{TestList, from_program};
use plumbline_core::definition::K8S_VERSION_VARIABLE;

use super::apply::{ProfileRun, applied, choose};
use super::find::FoundProfile;
use super::select::test_list;
use super::version;
use crate::context::Context;
use crate::error::AppError;
use crate::images::{Question, ask, not_allowed};
use crate::runtime::runtime;
use crate::sources::SourceKind;
use crate::sources::registry::client;

/// The tests of a profile, for the version that `run` sets.
pub fn tests_of(found: &FoundProfile, run: &ProfileRun) -> Result<TestList, AppError> {
    let profile = &found.profile;
    let Some(file) = &profile.tests else {
        return Err(AppError::usage(format!("profile `{}` has no list of its tests", profile.name)).hint(
            "the archive of a run has the names of all tests that ran: `plumbline results ARCHIVE -m detailed`",
        ));
    };
    // Required options have no value here, and do not matter.
    let lenient = lenient(profile);
    let mut settings = choose(&lenient, run)?;
    set_version(&found.bundle, &lenient, &mut settings, Some(file.as_str()))?;
    test_list(&found.bundle, &settings, file)
}

/// Asks the program in the image of the suite for its tests, if the user allows that it runs. Without
/// `image`, that is the image of the definition, as `run` sets it.
pub fn tests_in_image(
    context: &Context,
    found: &FoundProfile,
    run: &ProfileRun,
    image: Option<&str>,
    is_allowed: bool,
) -> Result<TestList, AppError> {
    let lenient = lenient(&found.profile);
    let settings = choose(&lenient, run)?;
    let image = match image {
        Some(image) => image.to_owned(),
        None => {
            let definition = applied(&settings, &found.bundle.definition, Place::Cluster, &[])?.definition;
            let image = definition.spec.image().filter(|image| !image.contains(K8S_VERSION_VARIABLE));
            let unknown = || {
                AppError::usage(format!("the image of profile `{}` is unknown", found.profile.name))
                    .hint("name it: `--input image:REFERENCE`")
            };
            image.ok_or_else(unknown)?.to_owned()
        }
    };
    let is_allowed = is_allowed || found.kind == SourceKind::BuiltIn;
    ask_tests(context, &found.profile, &image, settings.version(), is_allowed)
}

/// Asks the program in `image` for the tests of a profile. The program is third-party code that runs
/// on this machine, which is reported. Unless the profile is built in, the user has to allow it.
pub(crate) fn ask_tests(
    context: &Context,
    profile: &Profile,
    image: &str,
    version: &str,
    is_allowed: bool,
) -> Result<TestList, AppError> {
    let Some(listing) = profile.listing.as_ref().filter(|listing| !listing.tests.is_empty()) else {
        return Err(no_program(profile, "its tests"));
    };
    let question = Question { program: &listing.program, args: &listing.tests };
    let elsewhere = format!("run `{}` elsewhere, and pipe its output to `--input -`", question.command());
    if !is_allowed {
        let unknown = format!("the tests of profile `{}` are unknown", profile.name);
        return Err(not_allowed(unknown, question, &elsewhere));
    }
    let hint = format!("if the image is not available here, {elsewhere}");
    let output = runtime()?.block_on(async { ask(context, &client(context)?, image, question, None, &hint).await })?;
    let none = |error: Box<dyn Error>| AppError::usage("the suite lists no tests").because(&*error).hint(&hint);
    printed_tests(&output, listing.format, version, image).map_err(none)
}

/// Reads the names of tests that a program printed in `format`. `source` is for messages.
pub(crate) fn printed_tests(
    output: &str,
    format: ListingFormat,
    version: &str,
    source: &str,
) -> Result<TestList, Box<dyn Error>> {
    match format {
        ListingFormat::Ginkgo => Ok(from_program(output, version, source)?),
        ListingFormat::Lines => {
            let names = parse_tests(output.as_bytes(), MAX_TESTS)?;
            Ok(TestList::new(version, names.iter().map(String::as_str), source))
        }
    }
}

/// The error for a profile whose image has no program that prints a list.
pub(crate) fn no_program(profile: &Profile, what: &str) -> AppError {
    AppError::usage(format!("no program in the image of profile `{}` prints {what}", profile.name))
        .hint("a profile names such a program with the key `listing` (docs/profiles.md)")
}

/// Sets the version that the name of the list `file` contains, if the cluster decides it.
pub(super) fn set_version(
    bundle: &Bundle,
    profile: &Profile,
    settings: &mut Settings<'_>,
    file: Option<&str>,
) -> Result<(), AppError> {
    let Some(file) = file.filter(|file| file.contains(VERSION_PLACEHOLDER)) else { return Ok(()) };
    match only_version(bundle, profile, file) {
        // A list of one version needs no cluster.
        Some(version) => settings.set_cluster_version(&version).map_err(|error| {
            AppError::usage(format!("invalid list in profile `{}`", profile.name))
                .because(&error)
                .hint("correct the version in the name of the list")
        }),
        None => version::resolve(profile, settings, None, None),
    }
}

/// Returns the version in the names of a list, if there is only one and the cluster decides it.
fn only_version(bundle: &Bundle, profile: &Profile, file: &str) -> Option<String> {
    let (Version::Crd { .. } | Version::Cluster) = &profile.version else { return None };
    let (before, after) = file.split_once(VERSION_PLACEHOLDER)?;
    let version = |name: &str| name.strip_prefix(before)?.strip_suffix(after).map(str::to_owned);
    let mut all = bundle.files.iter().filter_map(|file| version(&file.name));
    all.next().filter(|_| all.next().is_none())
}

/// The profile without required options, apart from the one with its version.
pub(super) fn lenient(profile: &Profile) -> Profile {
    let mut lenient = profile.clone();
    for option in &mut lenient.options {
        let is_version = matches!(&profile.version, Version::Option(name) if *name == option.name);
        option.required &= is_version;
    }
    lenient
}
