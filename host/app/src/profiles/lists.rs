//! Reads the lists of tests in a profile's bundle.

use plumbline_bundle::Bundle;
use plumbline_profile::{MAX_LIST_BYTES, Profile, parse_tests};

use crate::error::AppError;
use crate::files::read_bytes;

/// Reads a list of tests from the bundle.
pub(super) fn read_list(bundle: &Bundle, profile: &Profile, file: &str, most: usize) -> Result<Vec<String>, AppError> {
    let wrong = || AppError::usage(format!("invalid list of tests `{file}` in profile `{}`", profile.name));
    // Only files of the bundle are covered by its digest and its signatures.
    if !bundle.files.iter().any(|known| known.name == file) {
        return Err(AppError::usage(format!("profile `{}` has no list of tests `{file}`", profile.name))
            .hint("choose another version of the suite, or add this file to the bundle"));
    }
    let bytes = read_bytes(&bundle.dir.join(file), MAX_LIST_BYTES as u64, &format!("invalid list of tests `{file}`"))?;
    parse_tests(&bytes, most).map_err(|error| wrong().because(&error).hint("write the name of one test into each line"))
}
