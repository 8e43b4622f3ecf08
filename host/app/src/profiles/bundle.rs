//! The bundle of a built-in profile, so that it is applied like every other bundle.

use std::io::{self, BufReader, Seek as _};

use plumbline_bundle::{Bundle, Cache};

use super::built_in::{BuiltInProfile, built_in};
use crate::error::{AppError, bundle_error, cache_error};
use crate::files::scratch;
use crate::sources::{ResolvedPlugin, SourceKind};

/// The plugin of the built-in profile whose plugin has this name, with its bundle. `None` if there is no
/// such profile, or if its suite is that of Kubernetes, which runs as its definition says.
pub(crate) fn built_in_bundle(plugin: &str) -> Result<Option<ResolvedPlugin>, AppError> {
    let Some(found) = built_in()?.iter().find(|one| one.plugin == plugin && !one.is_suite) else { return Ok(None) };
    let cache = Cache::user().map_err(|error| cache_error(failed(found), &error))?;
    unpacked(found, &cache).map(Some)
}

/// Writes the bundle into the cache.
pub(super) fn unpacked(built_in: &BuiltInProfile, cache: &Cache) -> Result<ResolvedPlugin, AppError> {
    let unwritable = |error: io::Error| AppError::system(failed(built_in)).because(&error);
    let dir = scratch()?;
    built_in.write(dir.path()).map_err(unwritable)?;
    let mut tar = tempfile::tempfile().map_err(unwritable)?;
    let packed = Bundle::open(dir.path()).and_then(|bundle| bundle.pack(&mut tar));
    packed.map_err(|error| bundle_error(failed(built_in), &error))?;
    tar.rewind().map_err(unwritable)?;
    let bundle = cache.unpacked(BufReader::new(tar)).map_err(|error| cache_error(failed(built_in), &error))?;
    Ok(ResolvedPlugin::of_bundle(bundle, built_in.plugin, SourceKind::BuiltIn))
}

fn failed(built_in: &BuiltInProfile) -> String {
    format!("failed to load the built-in profile `{}`", built_in.profile.name)
}
