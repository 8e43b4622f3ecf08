//! The generations of the WIT package `plumbline:plugin`. A component declares the generation for
//! which it was built. The host adapts each generation in one directory here, and reports unknown
//! ones.

pub(crate) mod v0_1;

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

/// Splits `namespace:package/interface@version` into name and version. The version is empty if
/// there is none.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.split_once('@').unwrap_or((name, ""))
}

/// Rejects a component with a version that this host does not support.
pub(crate) fn check(module: &str, generations: &[String]) -> Result<(), LoadError> {
    match generations.iter().find(|version| compare(version) != Known::Spoken) {
        None => Ok(()),
        Some(version) => {
            let found = if version.is_empty() { "(no version)".to_owned() } else { version.clone() };
            let newer = compare(version) == Known::Newer;
            Err(LoadError::Generation { module: module.to_owned(), found, host: HOST_GENERATION, newer })
        }
    }
}

/// Returns the error for a component that declares a later version of a supported generation, or
/// `None` for any other component. It applies if something that the component needs is missing,
/// since that version may have introduced it.
pub(crate) fn later(module: &str, generations: &[String]) -> Option<LoadError> {
    let patch = |version: &str| version.split(['+', '.']).nth(2).and_then(|patch| patch.parse::<u64>().ok());
    let found = generations.iter().find(|version| patch(version) > patch(HOST_GENERATION))?.clone();
    Some(LoadError::Generation { module: module.to_owned(), found, host: HOST_GENERATION, newer: true })
}

#[derive(Debug, PartialEq, Eq)]
enum Known {
    Spoken,
    Newer,
    Older,
}

fn compare(version: &str) -> Known {
    // Build metadata is ignored. A pre-release of a version differs from the version itself.
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let mut parts = version.splitn(3, '.');
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
    match (number(), number(), number()) {
        (Some(0), Some(1), Some(_)) => Known::Spoken,
        (Some(major), Some(minor), _) if (major, minor) > (0, 1) => Known::Newer,
        _ => Known::Older,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        for (version, known) in [
            ("0.1.0", Known::Spoken),
            ("0.1.7", Known::Spoken),
            ("0.1.7+build.1", Known::Spoken),
            ("0.2.0", Known::Newer),
            ("1.0.0-rc.1", Known::Newer),
            ("0.0.9", Known::Older),
            ("0.1.0-draft", Known::Older),
            ("", Known::Older),
            ("x", Known::Older),
        ] {
            assert_eq!(compare(version), known, "{version}");
        }
    }

    #[test]
    fn messages_say_which_side_is_behind() {
        let message = |version: &str| check("junit", &[version.to_owned()]).unwrap_err().to_string();
        assert_eq!(
            message("0.2.0"),
            "module `junit` is newer than this host: it speaks `plumbline:plugin@0.2.0`, this host `0.1.0`"
        );
        assert!(
            message("")
                .starts_with("module `junit` is older than this host: it speaks `plumbline:plugin@(no version)`")
        );
        assert!(check("junit", &["0.1.0".into()]).is_ok());
    }
}
