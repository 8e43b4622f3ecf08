//! What goes wrong with bundles, for a person.

use std::error::Error;

use plumbline_bundle::{BundleError, CacheError, StoreError};

use crate::error::CliError;

/// `what` did not work because of a bundle.
pub(crate) fn bundle_error(what: impl Into<String>, error: &BundleError) -> CliError {
    told(what.into(), error, error.is_systems(), error.hint().map(str::to_owned))
}

/// `what` did not work because of installed bundles.
pub(crate) fn store_error(what: impl Into<String>, error: &StoreError) -> CliError {
    told(what.into(), error, error.is_systems(), error.hint())
}

/// `what` did not work because of a packed bundle.
pub(super) fn cache_error(what: impl Into<String>, error: &CacheError) -> CliError {
    let (system, hint) = match error {
        CacheError::Unpack(error) => (error.is_systems(), error.hint()),
        CacheError::Bundle(error) => (error.is_systems(), error.hint()),
        CacheError::NoHome => (true, Some("say where: set `XDG_CACHE_HOME` to a directory")),
        _ => (true, None),
    };
    told(what.into(), error, system, hint.map(str::to_owned))
}

fn told(what: String, error: &dyn Error, system: bool, hint: Option<String>) -> CliError {
    let told = if system { CliError::system(what) } else { CliError::usage(what) };
    let told = told.because(error);
    match hint {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
