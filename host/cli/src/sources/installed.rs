//! Plugins that are found by their name alone: installed bundles, and what Sonobuoy has installed.

use plumbline_bundle::{SonobuoyCache, Store};

use super::definition::parse;
use super::failure::store_error;
use super::{Found, Where};
use crate::error::CliError;

/// The user's installed bundles. The names of built-in plugins are not installed: they are found first.
pub(crate) fn store() -> Result<Store, CliError> {
    let store = Store::user().map_err(|error| {
        store_error("failed to install bundles", &error).hint("say where: set `XDG_DATA_HOME` to a directory")
    })?;
    Ok(store.reserving(plumbline_bundle::built_in::definitions().iter().map(|built_in| built_in.name)))
}

/// Sonobuoy's directory, and what is in it. Without a home there is none.
pub(crate) fn sonobuoy() -> Result<Vec<(String, std::path::PathBuf)>, CliError> {
    let list = SonobuoyCache::user().map(|cache| cache.list()).transpose();
    let list = list.map_err(|error| CliError::system("failed to list Sonobuoy's plugins").because(&error))?;
    Ok(list.unwrap_or_default())
}

/// Whether something is installed under this name, sound or not.
pub(super) fn is_installed(name: &str) -> bool {
    Store::user().is_ok_and(|store| store.find(name).map_or(true, |found| found.is_some()))
}

/// The installed plugin of this name, its digest verified; else Sonobuoy's.
pub(super) fn found(name: &str) -> Result<Option<Found>, CliError> {
    if let Ok(store) = Store::user() {
        let found = store.find(name).map_err(|error| store_error(format!("failed to load plugin `{name}`"), &error))?;
        if let Some(installed) = found {
            let found = Found::of_bundle(installed.bundle, name, Where::Installed);
            return Ok(Some(Found { signatures: installed.signatures, ..found }));
        }
    }
    let Some(cache) = SonobuoyCache::user() else { return Ok(None) };
    let found = cache
        .find(name)
        .map_err(|error| CliError::system(format!("failed to load plugin `{name}`")).because(&error))?;
    let Some((path, text)) = found else { return Ok(None) };
    let found = parse(text, &path.display().to_string(), None)?;
    Ok(Some(Found { place: Where::Sonobuoy, ..found }))
}
