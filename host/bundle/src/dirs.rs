//! Directories of the user.

use std::env;
use std::path::PathBuf;

/// Returns `$VARIABLE`, or `fallback` below the home directory. The XDG Base Directory
/// Specification says to ignore relative paths in these variables. `None` if the user has no home
/// directory.
pub(crate) fn xdg(variable: &str, fallback: &str) -> Option<PathBuf> {
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(fallback)))
}

/// Returns the absolute path in an environment variable.
pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
