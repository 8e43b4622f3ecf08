//! Errors of bundles and registries as errors of use cases.

use std::error::Error;

use plumbline_bundle::{BundleError, CacheError, StoreError};
use plumbline_registry::RegistryError;

use crate::error::AppError;

/// An error of a bundle. `what` says what failed.
pub fn bundle_error(what: impl Into<String>, error: &BundleError) -> AppError {
    app_error(what.into(), error, error.is_systems(), error.hint().map(str::to_owned))
}

/// An error of the installed bundles. `what` says what failed.
pub fn store_error(what: impl Into<String>, error: &StoreError) -> AppError {
    app_error(what.into(), error, error.is_systems(), error.hint())
}

/// An error of a packed bundle. `what` says what failed.
pub fn cache_error(what: impl Into<String>, error: &CacheError) -> AppError {
    let (system, hint) = match error {
        CacheError::Unpack(error) => (error.is_systems(), error.hint()),
        CacheError::Bundle(error) => (error.is_systems(), error.hint()),
        CacheError::NoHome => (true, Some("say where: set `XDG_CACHE_HOME` to a directory")),
        _ => (true, None),
    };
    app_error(what.into(), error, system, hint.map(str::to_owned))
}

/// An error of a registry or a layout.
pub fn registry_error(error: &RegistryError) -> AppError {
    app_error(format!("failed to {}", error.what), error.cause.as_ref(), !error.is_usage(), error.hint())
}

fn app_error(what: String, error: &dyn Error, system: bool, hint: Option<String>) -> AppError {
    let failed = if system { AppError::system(what) } else { AppError::usage(what) };
    let failed = failed.because(error);
    match hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}
