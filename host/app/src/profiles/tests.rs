//! Lists the tests of a profile.

use plumbline_bundle::Bundle;
use plumbline_conformance::lists::TestList;
use plumbline_profile::{Profile, Settings, VERSION_PLACEHOLDER, Version};

use super::apply::{ProfileRun, choose};
use super::find::FoundProfile;
use super::select::test_list;
use super::version;
use crate::error::AppError;

/// The tests of a profile, for the version that `run` sets.
pub fn tests_of(found: &FoundProfile, run: &ProfileRun) -> Result<TestList, AppError> {
    let profile = &found.profile;
    if profile.tests.is_none() {
        return Err(AppError::usage(format!("profile `{}` has no list of its tests", profile.name)).hint(
            "the archive of a run has the names of all tests that ran: `plumbline results ARCHIVE -m detailed`",
        ));
    }
    // Required options have no value here, and do not matter.
    let lenient = lenient(profile);
    let mut settings = choose(&lenient, run)?;
    set_version(&found.bundle, &lenient, &mut settings, profile.tests.as_deref())?;
    let file = settings.tests_file().unwrap_or_default();
    test_list(&found.bundle, profile, settings.version(), &file)
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
        Some(version) => settings
            .set_cluster_version(&version)
            .map_err(|error| AppError::usage(format!("invalid list in profile `{}`", profile.name)).because(&error)),
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
