//! Programs that only tests need: one that cannot be had is left out, with the reason told.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::Error;
use crate::report::say;

/// The program that `variable` names already, else the one that `get` gets. `None`, where it cannot: without `what`, `tests` are skipped.
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

/// What a variable names, if it names something.
pub(crate) fn named(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|named| !named.is_empty())
}

/// Says why `tests` are skipped: the first line of the error.
pub(crate) fn tell(what: &str, tests: &str, error: &Error) {
    let reason = error.to_string();
    let reason = reason.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    say(format_args!("no {what}, so {tests} are skipped: {reason}"));
}
