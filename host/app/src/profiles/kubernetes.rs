//! The built-in profile, which is that of the suite of Kubernetes. Its plugin `e2e` is built in too,
//! and people edit the definition. Options of the command line are other spellings of its options.

use std::sync::LazyLock;

use clap::{Args, Command};
use plumbline_core::{Definition, closest};
use plumbline_profile::{Given, Place, Profile, ProfileError, ProfileMode, Settings};

use super::apply::{applied, wrong_settings};
use crate::error::AppError;
use crate::suite::SuiteOptions;

/// The name of the profile of the suite of Kubernetes.
pub const KUBERNETES: &str = "kubernetes";

/// The version of the suite, for people.
pub const KUBERNETES_VERSION: &str = "that of the cluster";

static PROFILE: LazyLock<Result<Profile, ProfileError>> =
    LazyLock::new(|| Profile::parse(include_bytes!("../../../../plugins/profiles/kubernetes/profile.yaml")));

/// The profile of the suite of Kubernetes.
pub fn kubernetes() -> Result<&'static Profile, AppError> {
    PROFILE
        .as_ref()
        .map_err(|error| AppError::system(format!("the built-in profile `{KUBERNETES}` is damaged")).because(error))
}

/// The modes of the suite of Kubernetes.
#[must_use]
pub fn modes() -> &'static [ProfileMode] {
    PROFILE.as_ref().map_or(&[], |profile| &profile.modes)
}

/// Checks the name of a mode of the suite of Kubernetes.
///
/// # Errors
///
/// The suite has no such mode.
pub fn parse_mode(text: &str) -> Result<String, UnknownMode> {
    match modes().iter().any(|mode| mode.name == text) {
        true => Ok(text.to_owned()),
        false => Err(UnknownMode(text.to_owned())),
    }
}

/// The suite of Kubernetes has no mode of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode{}: the modes are {}", meant(.0), all())]
pub struct UnknownMode(String);

fn meant(typed: &str) -> String {
    let near = closest(typed, modes().iter().map(|mode| mode.name.as_str()));
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn all() -> String {
    modes().iter().map(|mode| format!("`{}`", mode.name)).collect::<Vec<_>>().join(", ")
}

/// The changes to the definition of the suite that follow from a mode and values of options.
pub(crate) fn changes(mode: Option<&str>, given: &[Given]) -> Result<Settings<'static>, AppError> {
    let profile = kubernetes()?;
    Settings::choose_changes(profile, mode, given).map_err(|error| wrong_settings(profile, &error))
}

/// Selects failed tests of another run, and no others.
pub(crate) fn select_failed(settings: &mut Settings<'static>, expression: String) -> Result<(), AppError> {
    settings.select_failed(expression).map_err(|error| wrong_settings(settings.profile(), &error))
}

/// Applies changes to a definition of the suite.
pub(crate) fn changed(settings: &Settings<'static>, definition: &Definition) -> Result<Definition, AppError> {
    let mut changed = applied(settings, definition, Place::Cluster, &[])?.definition;
    // People edit this definition after it was made, so its variables are what it says about itself.
    changed.plumbline.suite = None;
    Ok(changed)
}

/// An option of the suite of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuiteOption {
    /// The option with its dashes.
    pub flag: String,
    /// The name of its value. `None` if it takes none.
    pub value: Option<String>,
    /// What it does.
    pub help: String,
}

/// Lists the options of the suite of Kubernetes, as `--help` does.
#[must_use]
pub fn suite_options() -> Vec<SuiteOption> {
    let command = SuiteOptions::augment_args(Command::new(KUBERNETES));
    let option = |arg: &clap::Arg| {
        let takes_value = arg.get_action().takes_values();
        Some(SuiteOption {
            flag: format!("--{}", arg.get_long()?),
            value: arg
                .get_value_names()
                .filter(|_| takes_value)
                .and_then(|names| names.first())
                .map(ToString::to_string),
            help: arg.get_help().map(ToString::to_string).unwrap_or_default(),
        })
    };
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(option).collect()
}
