//! Programs that tasks and tests need. They are installed into a cache that all checkouts share, and
//! never on the system.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::error::Error;
use crate::lock::Lock;
use crate::report::print_status;
use crate::{paths, steps};

/// Returns the directory `name` of the cache. If it has no file `marker`, `install` fills it, which
/// is announced as `doing`.
pub(crate) fn in_cache(
    name: &str,
    marker: &str,
    doing: impl Display,
    install: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let tools = paths::cache()?.join("tools");
    let root = tools.join(name);
    // Another process may be installing it, and its marker may be there before the rest.
    let _lock = Lock::take(&tools)?;
    if !root.join(marker).exists() {
        print_status(format_args!("{doing} into {}", root.display()));
        let start = Instant::now();
        if let Err(error) = install(&root) {
            // Remove an incomplete installation, or it would be used the next time.
            let _ = fs::remove_dir_all(&root);
            return Err(error);
        }
        print_status(format_args!("{name} took {}", steps::seconds(start.elapsed())));
    }
    Ok(root)
}

/// Returns the path of a program in `PATH`.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|dir| dir.join(program)).find(|program| program.is_file())
}

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
    get().inspect_err(|error| report_skipped(what, tests, error)).ok().map(PathBuf::into_os_string)
}

/// Returns the value of a variable, if it is not empty.
pub(crate) fn named(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|named| !named.is_empty())
}

/// Prints why `tests` are skipped: the first line of the error.
pub(crate) fn report_skipped(what: &str, tests: &str, error: &Error) {
    let reason = error.to_string();
    let reason = reason.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    print_status(format_args!("failed to get {what}, so {tests} are skipped: {reason}"));
}
