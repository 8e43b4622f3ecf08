//! Programs that only tests need. If one is not available, it is left out with the reason printed.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::Error;
use crate::report::say;

/// Returns the program that `variable` names, or else the one that `get` returns. On an error,
/// prints that `tests` are skipped without `what`, and returns `None`.
pub(crate) fn program(
    variable: &str,
    what: &str,
    tests: &str,
    get: impl FnOnce() -> Result<PathBuf, Error>,
) -> Option<OsString> {
    if let Some(named) = named(variable) {
        return Some(named);
    }
    get().inspect_err(|error| tell(what, tests, error)).ok().map(PathBuf::into_os_string)
}

/// Returns the value of a variable, if it is not empty.
pub(crate) fn named(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|named| !named.is_empty())
}

/// Prints why `tests` are skipped: the first line of the error.
pub(crate) fn tell(what: &str, tests: &str, error: &Error) {
    let reason = error.to_string();
    let reason = reason.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    say(format_args!("no {what}, so {tests} are skipped: {reason}"));
}
