//! Bundles in registries: `oci://registry/name:tag`, `oci://registry/name@sha256:…`.

use tempfile::NamedTempFile;

use super::packed::unpacked;
use super::{Found, Where};
use crate::error::CliError;

/// How references to registries begin.
const SCHEME: &str = "oci://";

/// A bundle that was fetched.
pub(crate) struct Pulled {
    /// The tar, removed when this is dropped.
    pub(crate) tar: NamedTempFile,
    /// What the registry calls this version: the tag, or an annotation.
    pub(crate) version: Option<String>,
    /// Its signatures as they came.
    pub(crate) signatures: Option<Vec<u8>>,
}

/// Whether somebody means a registry.
pub(crate) fn is_remote(reference: &str) -> bool {
    reference.get(..SCHEME.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(SCHEME))
}

/// Fetches the bundle that `reference` names. This is the one place where references become files: `--plugin`, `plugin install`,
/// `plugin show` and `plugin lock` all come here.
pub(crate) fn pull(reference: &str) -> Result<Pulled, CliError> {
    Err(CliError::usage(format!(
        "bundle `{reference}` cannot be fetched: this program does not speak to registries yet"
    ))
    .hint("fetch the bundle's layer, which is a tar, by other means, and name the file: `--plugin FILE.bundle.tar`"))
}

/// The plugin that `reference` names.
pub(super) fn found(reference: &str) -> Result<Found, CliError> {
    unpacked(pull(reference)?.tar.as_file(), reference, Where::Registry)
}
