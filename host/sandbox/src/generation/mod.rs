//! The generations of the WIT package `plumbline:plugin`. A component declares the generation for
//! which it was built. The host adapts each generation in one directory here, and reports unknown
//! ones.

pub(crate) mod v0_1;

use std::cmp::Ordering;

use crate::error::LoadError;

/// The latest version of `plumbline:plugin` that this host supports. It accepts modules of every
/// `0.1.x`.
pub const HOST_GENERATION: &str = "0.1.0";

/// The prefix of the package's interface names.
pub(crate) const PACKAGE: &str = "plumbline:plugin/";
/// The interface of the role that turns files into items.
pub(crate) const POST_PROCESSOR: &str = "plumbline:plugin/post-processor";
/// The interface of the role that determines the expected results.
pub(crate) const EXPECTATIONS: &str = "plumbline:plugin/expectations";
/// The interface of the role that summarizes all results of a plugin.
pub(crate) const SUMMARIZER: &str = "plumbline:plugin/summarizer";
/// The interface of the role that decides what in a finished tree counts.
pub(crate) const JUDGE: &str = "plumbline:plugin/judge";

/// The interface of the role that checks a node or a cluster itself.
pub(crate) const CHECK: &str = "plumbline:plugin/check";

/// Splits `namespace:package/interface@version` into name and version. The version is empty if
/// there is none.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

/// Rejects a component with a version that this host does not support.
pub(crate) fn check(module: &str, generations: &[String]) -> Result<(), LoadError> {
    let Some(version) = generations.iter().find(|version| compare(version) != Ordering::Equal) else { return Ok(()) };
    let found = if version.is_empty() { "(no version)".to_owned() } else { version.clone() };
    let newer = compare(version) == Ordering::Greater;
    Err(LoadError::Generation { module: module.to_owned(), found, host: HOST_GENERATION, newer })
}

/// Returns the error for a component that declares a later version of a supported generation, or
/// `None` for any other component. It applies if something that the component needs is missing,
/// since that version may have introduced it.
pub(crate) fn later(module: &str, generations: &[String]) -> Option<LoadError> {
    let patch = |version: &str| version.split(['+', '.']).nth(2).and_then(|patch| patch.parse::<u64>().ok());
    let found = generations.iter().find(|version| patch(version) > patch(HOST_GENERATION))?.clone();
    Some(LoadError::Generation { module: module.to_owned(), found, host: HOST_GENERATION, newer: true })
}

/// Compares the generation of a version with that of this host. An invalid version counts as older.
fn compare(version: &str) -> Ordering {
    // Build metadata is ignored. A pre-release of a version differs from the version itself.
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let mut parts = version.splitn(3, '.');
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
    match (number(), number(), number()) {
        (Some(0), Some(1), Some(_)) => Ordering::Equal,
        (Some(major), Some(minor), _) if (major, minor) > (0, 1) => Ordering::Greater,
        _ => Ordering::Less,
    }
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
