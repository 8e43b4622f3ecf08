//! Checks of bundles: whether a directory can be packed, and whether a packed bundle can be
//! unpacked.

use std::fs::File;
use std::path::Path;

use plumbline_bundle::{Bundle, BundleError, BundleWarning, unpack};
use plumbline_core::Driver;
use tempfile::TempDir;

use super::finding::Checked;
use crate::project::AuthorError;

/// Checks whether a directory with a definition can be packed. Problems that other checks report
/// better are skipped here.
pub(super) fn check(directory: &Path, checked: &mut Checked) {
    match Bundle::open(directory) {
        Ok(bundle) => {
            for warning in &bundle.warnings {
                let told = match warning {
                    BundleWarning::Definition(_) => true,
                    BundleWarning::NoCommand(_) | BundleWarning::NotExecutable(_) => {
                        bundle.definition.driver == Driver::Process
                    }
                    _ => false,
                };
                if !told {
                    checked.warning("plugin.yaml", warning, None);
                }
            }
        }
        Err(
            BundleError::NoDefinition(_)
            | BundleError::Definition { .. }
            | BundleError::Module { .. }
            | BundleError::TooManyModules(_),
        ) => {}
        Err(error) => checked.error(".", format!("failed to pack the bundle: {error}"), error.hint()),
    }
}

/// Unpacks a packed bundle, so that it can be checked like a directory. Returns `None` if it cannot
/// be unpacked, which is a finding.
pub(super) fn unpacked(tar: &Path, checked: &mut Checked) -> Result<Option<TempDir>, AuthorError> {
    let place = tar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let scratch = tempfile::tempdir()
        .map_err(|error| AuthorError::system("failed to create a directory for temporary files").because(error))?;
    let file = File::open(tar)
        .map_err(|error| AuthorError::input(format!("failed to read file `{}`", tar.display())).because(error))?;
    match unpack(file, &scratch.path().join(UNPACKED)) {
        Ok(_) => Ok(Some(scratch)),
        Err(error) => {
            checked.error(place, &error, error.hint());
            Ok(None)
        }
    }
}

/// The directory of the bundle below the temporary directory.
pub(super) const UNPACKED: &str = "bundle";
