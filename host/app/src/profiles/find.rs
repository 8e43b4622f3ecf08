//! Finds profiles: built-in ones, those of installed bundles, and those of any reference to a bundle.

use std::path::Path;

use plumbline_bundle::Bundle;
use plumbline_bundle::built_in::Environment;
use plumbline_bundle::profile::Profile;
use plumbline_core::closest;

use super::built_in::{BuiltInProfile, built_in};
use crate::context::Context;
use crate::error::{AppError, store_error};
use crate::sources::{self, ResolvedPlugin, SourceKind};

/// A profile that can be run by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedProfile {
    /// The name.
    pub name: String,
    /// The name of the suite.
    pub title: String,
    /// What the suite tests.
    pub description: Option<String>,
    /// The version of the suite. `None` if the cluster of the run decides it.
    pub version: Option<String>,
    /// The reference that the bundle was installed from. `None` for a built-in profile.
    pub source: Option<String>,
    /// Whether the suite runs on one machine.
    pub local: bool,
}

/// A profile, and the bundle that contains it.
pub struct FoundProfile {
    /// The profile.
    pub profile: Profile,
    /// The bundle.
    pub bundle: Bundle,
    /// The kind of source of the bundle.
    pub kind: SourceKind,
}

/// Lists the profiles that can be run by their names: the built-in ones, then the installed ones.
/// Without a home directory, nothing is installed. Damaged bundles are left out.
pub fn list() -> Result<Vec<ListedProfile>, AppError> {
    let mut all = listed_built_in(built_in()?);
    let built_in = all.len();
    let Ok(store) = sources::store() else { return Ok(all) };
    let installed = store.list().map_err(|error| store_error("failed to list installed bundles", &error))?;
    for entry in installed {
        // A bundle with the name of a built-in profile has to be named by its path.
        if all.iter().take(built_in).any(|listed| listed.name == entry.name) {
            continue;
        }
        let Ok(found) = entry.state else { continue };
        let Some(profile) = found.bundle.profile else { continue };
        all.push(ListedProfile {
            name: entry.name,
            version: profile.shown_version().map(str::to_owned),
            local: profile.local.is_some() || found.bundle.definition.driver == plumbline_core::Driver::Process,
            title: profile.title,
            description: profile.description,
            source: Some(found.record.source),
        });
    }
    Ok(all)
}

pub(super) fn listed_built_in(all: &[BuiltInProfile]) -> Vec<ListedProfile> {
    let listed = |BuiltInProfile { profile, .. }: &BuiltInProfile| ListedProfile {
        name: profile.name.to_string(),
        title: profile.title.clone(),
        description: profile.description.clone(),
        version: profile.shown_version().map(str::to_owned),
        source: None,
        local: profile.local.is_some(),
    };
    all.iter().map(listed).collect()
}

/// Finds the profile that `reference` names: an installed bundle, a directory, a packed bundle, or
/// a bundle in a registry.
pub fn find(context: &Context, reference: &str) -> Result<FoundProfile, AppError> {
    check_name(reference)?;
    let plugin = sources::find(context, reference, Environment::Cluster)?;
    for warning in &plugin.warnings {
        context.reporter.warning(&format!("`{}`: {warning}", plugin.origin));
    }
    of_plugin(&plugin)
}

/// The profile of a plugin.
pub(crate) fn of_plugin(plugin: &ResolvedPlugin) -> Result<FoundProfile, AppError> {
    let none = || {
        AppError::usage(format!("plugin `{}` has no profile", plugin.origin)).hint(format!(
            "run it with `plumbline run -p {}`; a profile is the file `profile.yaml` next to `plugin.yaml`",
            plugin.origin
        ))
    };
    let (bundle, profile) = profile_of(plugin)?.ok_or_else(none)?;
    Ok(FoundProfile { profile, bundle, kind: plugin.kind })
}

/// The bundle and the profile of a plugin, if it has them.
pub(super) fn profile_of(plugin: &ResolvedPlugin) -> Result<Option<(Bundle, Profile)>, AppError> {
    let Some(bundle) = plugin.bundle()? else { return Ok(None) };
    Ok(bundle.profile.clone().map(|profile| (bundle, profile)))
}

/// Checks that a name, in contrast to a path or a URL, is one of a profile. The error lists the
/// profiles, and not all plugins.
pub(crate) fn check_name(reference: &str) -> Result<(), AppError> {
    let is_name = !reference.contains(['/', '\\', ':']) && !Path::new(reference).exists();
    if !is_name {
        return Ok(());
    }
    let names: Vec<String> = list()?.into_iter().map(|listed| listed.name).collect();
    let plain = reference.split_once('@').map_or(reference, |(name, _)| name);
    // A plugin without a profile has its own error.
    let installed = sources::store().ok().and_then(|store| store.find(plain).transpose());
    if names.iter().any(|name| name == plain) || installed.is_some() {
        return Ok(());
    }
    Err(not_found(reference, &names))
}

/// The error for a name that is not among `names`, those of the profiles that can be run.
pub(super) fn not_found(reference: &str, names: &[String]) -> AppError {
    let error = AppError::usage(format!("profile `{reference}` not found"));
    if names.is_empty() {
        return error.hint(
            "it is not in this program, and no profile is installed; install one with `plumbline plugin install`, or pass a directory with `profile.yaml`",
        );
    }
    let plain = reference.split_once('@').map_or(reference, |(name, _)| name);
    let near = closest(plain, names.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?\n"));
    let all = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    error.hint(format!(
        "{}profiles: {all}; install more with `plumbline plugin install`, or pass a directory with `profile.yaml`",
        near.unwrap_or_default()
    ))
}
