//! Where things of the user are.

use std::env;
use std::path::PathBuf;

/// `$VARIABLE`, or `fallback` below the home directory (XDG Base Directory Specification: a relative path there does not count). `None`
/// without a home.
pub(crate) fn xdg(variable: &str, fallback: &str) -> Option<PathBuf> {
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(fallback)))
}

/// The absolute path in an environment variable.
pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
