//! What a run sets of a profile, and the definition that follows from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumbline_bundle::profile::{
    Applied, Given, MAX_REQUIRED, MAX_VALUE_BYTES, OptionType, Place, Profile, ProfileOption, SECRET, Settings,
    SettingsError,
};
use plumbline_core::Definition;
use plumbline_kubernetes::ConnectOptions;

use super::built_in::{BuiltInProfile, built_in};
use super::find::{FoundProfile, of_plugin};
use super::lists::read_list;
use super::select::check_selection;
use super::version;
use crate::context::Context;
use crate::error::AppError;
use crate::files::read_text;
use crate::local::SecretValues;
use crate::reruns::{Retries, failed_tests_of};
use crate::sources::ResolvedPlugin;

/// What a run sets of a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileRun {
    /// The mode. `None` for the default mode.
    pub mode: Option<String>,
    /// Values of options: `NAME=VALUE`.
    pub set: Vec<String>,
    /// Files with values of options: `NAME=FILE`.
    pub set_files: Vec<String>,
    /// The archive whose failed tests run again, and no others.
    pub rerun_failed: Option<PathBuf>,
    /// The maximum number of reruns of failed tests in the same run.
    pub retries: u32,
    /// The version of Kubernetes that the user names. `None` for that of the cluster.
    pub kubernetes_version: Option<String>,
}

/// What a run does besides its definition.
#[derive(Debug, Default)]
pub(crate) struct AppliedProfile {
    /// Values of secret options, which stay out of the definition.
    pub(crate) secrets: SecretValues,
    /// Reruns of failed tests.
    pub(crate) retries: Option<Retries>,
}

impl ProfileRun {
    /// Reads the values, and the files with values.
    pub(crate) fn given(&self, profile: &Profile) -> Result<Vec<Given>, AppError> {
        let show = || format!("`plumbline conformance show {}` lists options", profile.name);
        let mut given = Vec::new();
        for text in &self.set {
            let Some((name, value)) = text.split_once('=') else {
                return Err(AppError::usage(format!("invalid `--set {text}`: expected `NAME=VALUE`")).hint(show()));
            };
            given.push(Given { name: name.to_owned(), value: value.to_owned(), from_file: false });
        }
        for text in &self.set_files {
            let Some((name, file)) = text.split_once('=') else {
                return Err(AppError::usage(format!("invalid `--set-file {text}`: expected `NAME=FILE`")).hint(show()));
            };
            // An unknown option is reported first, because its file may not exist either.
            let value = match profile.option(name) {
                Some(_) => {
                    read_text(Path::new(file), MAX_VALUE_BYTES, &format!("failed to read the value of `{name}`"))?
                }
                None => String::new(),
            };
            given.push(Given { name: name.to_owned(), value, from_file: true });
        }
        Ok(given)
    }
}

/// What a run of the default plugins sets of the profile of the first one: nothing, so its default mode
/// applies. `None` without such a profile, and for the suite of Kubernetes, whose definition has the
/// values.
pub(crate) fn default_run() -> Result<Option<ProfileRun>, AppError> {
    built_in().map(default_run_in)
}

pub(super) fn default_run_in(all: &[BuiltInProfile]) -> Option<ProfileRun> {
    all.first().filter(|first| !first.is_suite).map(|_| ProfileRun::default())
}

/// Chooses mode and values of a run.
pub(super) fn choose<'a>(profile: &'a Profile, run: &ProfileRun) -> Result<Settings<'a>, AppError> {
    let given = run.given(profile)?;
    Settings::choose(profile, run.mode.as_deref(), &given).map_err(|error| wrong_settings(profile, &error))
}

pub(crate) fn wrong_settings(profile: &Profile, error: &SettingsError) -> AppError {
    AppError::usage(format!("invalid settings of profile `{}`", profile.name)).because(error).hint(error.hint())
}

/// Checks mode and values before anything else is done.
pub fn check(profile: &Profile, run: &ProfileRun) -> Result<(), AppError> {
    let mut settings = choose(profile, run)?;
    if run.rerun_failed.is_some() {
        settings.select_failed(String::new()).map_err(|error| wrong_settings(profile, &error))?;
    }
    retries(profile, run).map(drop)
}

/// The reruns of failed tests that `run` wants.
fn retries(profile: &Profile, run: &ProfileRun) -> Result<Option<Retries>, AppError> {
    if run.retries == 0 {
        return Ok(None);
    }
    match profile.reruns(profile.name.clone()) {
        Some(how) => Ok(Some(Retries { count: run.retries, how })),
        None => Err(wrong_settings(profile, &SettingsError::NoSelection(profile.name.to_string()))),
    }
}

/// Applies `run` to the first plugin, which has a profile. Without `run`, plugins stay as they are. The
/// suite runs in `cluster`, or on this machine.
pub(crate) fn apply(
    context: &Context,
    run: Option<&ProfileRun>,
    found: &mut [ResolvedPlugin],
    cluster: Option<&ConnectOptions>,
) -> Result<AppliedProfile, AppError> {
    let Some((run, plugin)) = run.zip(found.first_mut()) else { return Ok(AppliedProfile::default()) };
    let FoundProfile { profile, bundle, .. } = of_plugin(plugin)?;
    let mut settings = choose(&profile, run)?;
    let place = if cluster.is_some() { Place::Cluster } else { Place::Local };
    if place == Place::Local {
        settings.resolve_paths(absolute_path)?;
    }
    version::resolve(&profile, &mut settings, cluster, run.kubernetes_version.as_deref())?;
    let required = match (settings.required(), &run.rerun_failed) {
        (Some(file), None) => read_list(&bundle, &settings, file, MAX_REQUIRED)?,
        // The other required tests do not run.
        (_, Some(archive)) => {
            let failed = failed_tests_of(context, archive, profile.name.as_str(), &profile)?;
            settings.select_failed(failed.focus).map_err(|error| wrong_settings(&profile, &error))?;
            failed.names
        }
        (None, None) => Vec::new(),
    };
    check_selection(context, &bundle, &settings)?;
    let definition = plugin.source.definition.as_ref();
    let Applied { definition, secrets } = applied(&settings, definition, place, &required)?;
    context.reporter.progress(&described(&profile, &settings, required.len()));
    plugin.source.definition = Arc::new(definition);
    let secrets = match secrets.is_empty() {
        true => SecretValues::new(),
        false => BTreeMap::from([(SECRET.to_owned(), secrets)]),
    };
    Ok(AppliedProfile { secrets, retries: retries(&profile, run)? })
}

/// Applies settings to a definition.
pub(crate) fn applied(
    settings: &Settings<'_>,
    definition: &Definition,
    place: Place,
    required: &[String],
) -> Result<Applied, AppError> {
    settings.apply(definition, place, required).map_err(|error| {
        let hint = error.hint();
        AppError::usage(format!("failed to apply profile `{}`", settings.profile().name)).because(&error).hint(hint)
    })
}

/// Describes what runs, in one line.
fn described(profile: &Profile, settings: &Settings<'_>, required: usize) -> String {
    let mut text = format!("profile `{}`: {} {}", profile.name, profile.title, settings.version());
    if let Some(mode) = settings.mode() {
        text.push_str(&format!(", mode `{}`", mode.name));
    }
    match required {
        0 => {}
        1 => text.push_str(", 1 required test"),
        many => text.push_str(&format!(", {many} required tests")),
    }
    text
}

/// Makes the path of an option absolute, because a plugin may start in another directory. A program
/// without a slash is looked up in `PATH` by the suite's own script.
fn absolute_path(option: &ProfileOption, path: &str) -> Result<String, AppError> {
    debug_assert_eq!(option.kind, OptionType::Path);
    if option.default.as_deref() == Some(path) && !path.contains('/') {
        return Ok(path.to_owned());
    }
    let wrong = || AppError::usage(format!("invalid value of option `{}`: `{path}` does not exist", option.name));
    let absolute = Path::new(path).canonicalize().map_err(|error| {
        wrong().because(&error).hint(format!("create it, or pass another path with `--set {}=PATH`", option.name))
    })?;
    absolute.to_str().map(str::to_owned).ok_or_else(|| {
        wrong().cause("the path is not UTF-8").hint("use a path of letters, digits and other UTF-8 characters")
    })
}
