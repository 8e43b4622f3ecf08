//! Installs bundles for the user.

use std::path::{Path, PathBuf};

use plumbline_bundle::{Installed, Origin, SonobuoyCache};

use crate::context::Context;
use crate::error::AppError;
use crate::sources::{self, registry};

/// Installs the bundle that `reference` names: a directory, a packed bundle, or `oci://…`.
///
/// # Errors
/// It is not a bundle, or it cannot be fetched or written.
pub fn install(context: &Context, reference: &str) -> Result<Installed, AppError> {
    let store = sources::store()?;
    let path = Path::new(reference);
    let mut origin = Origin { source: reference.to_owned(), ..Origin::default() };
    let put = |path: &Path, origin| {
        store
            .install(path, origin)
            .map_err(|error| sources::store_error(format!("failed to install `{reference}`"), &error))
    };
    if registry::is_reference(reference) {
        let pulled = registry::pull(context, reference)?;
        (origin.version, origin.signatures) = (pulled.version, pulled.signatures);
        return put(pulled.tar.path(), origin);
    }
    // A relative path has no meaning in other directories.
    if let Ok(absolute) = path.canonicalize() {
        origin.source = absolute.display().to_string();
    }
    if path.is_file() && sources::is_packed(path) {
        origin.signatures = sources::signatures_beside(path)?;
    } else if !path.is_dir() {
        return Err(AppError::usage(format!("`{reference}` is not a bundle")).hint(
            "name a directory with `plugin.yaml`, a tar that `plumbline plugin pack` wrote, or `oci://…`; a definition alone runs from its file: `-p FILE`",
        ));
    }
    put(path, origin)
}

/// Installs a definition, a file or a URL, as `sonobuoy plugin install NAME DEFINITION` does.
/// Returns its path.
///
/// # Errors
/// The definition is invalid, or it cannot be fetched or written.
pub fn install_for_sonobuoy(context: &Context, name: &str, definition: &str) -> Result<PathBuf, AppError> {
    let failed = || AppError::system(format!("failed to install plugin `{name}`"));
    let cache = SonobuoyCache::user().ok_or_else(|| failed().hint("set `HOME` or `SONOBUOY_DIR`"))?;
    let text = sources::definition_text(context, definition)?;
    cache.install(name, &text).map_err(|error| failed().because(&error))
}
