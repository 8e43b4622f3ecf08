//! Minor versions of Kubernetes, and the tests that a submission for one must have passed.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

use crate::lists::{Embedded, ListError};

/// A minor version of Kubernetes, such as `v1.30`. A submission is for one minor version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    major: u32,
    minor: u32,
}

/// Error for a string that is not a Kubernetes version.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid version `{0}`: expected a version such as `v1.30`")]
pub struct ReleaseError(pub String);

impl FromStr for Release {
    type Err = ReleaseError;

    /// Parses `v1.30`, `1.30`, and longer versions: `v1.30.2`, `v1.30.2-eks-1a2b`, `1.30+`.
    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let error = || ReleaseError(text.chars().take(80).collect());
        let text = text.trim();
        let (major, rest) = text.strip_prefix('v').unwrap_or(text).split_once('.').ok_or_else(error)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let minor = rest.get(..end).unwrap_or_default();
        // Reject numbers with more than four digits, which cannot be real versions.
        if !(1..=4).contains(&minor.len())
            || !(1..=4).contains(&major.len())
            || !major.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(error());
        }
        Ok(Self { major: major.parse().map_err(|_| error())?, minor: minor.parse().map_err(|_| error())? })
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

/// Maximum size of a `conformance.yaml`: 16 MiB. That of v1.36 has 240 KiB.
const MAX_BYTES: usize = 16 << 20;

/// The tests that a submission for one version must have passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    /// Version of the list. It may be older than the version of the submission, see
    /// [`Required::embedded`].
    pub release: Release,
    /// Names without `[It] `.
    pub names: BTreeSet<String>,
    /// Source of the list, for messages.
    pub source: String,
}

/// Error for a text that is not a list of required tests.
#[derive(Debug, Error)]
pub enum RequiredError {
    /// The text is larger than 16 MiB.
    #[error("it has {0} bytes: a list of required tests has at most {MAX_BYTES}")]
    TooLarge(usize),
    /// The text is not YAML with the expected structure.
    #[error("it is not a list of tests with `codename` and `release`: {0}")]
    Form(String),
    /// A `release` is not a valid version.
    #[error("failed to read the release of test `{test}`: {cause}")]
    Release {
        /// Name of the test.
        test: String,
        /// The underlying error.
        cause: ReleaseError,
    },
    /// The list requires no test.
    #[error("no test in it is required for {0}")]
    Nothing(Release),
}

/// An entry of `conformance.yaml`.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    codename: String,
    /// The releases since which the test is required, separated by commas.
    #[serde(default)]
    release: String,
}

impl Required {
    /// Parses a `conformance.yaml`, as `e2e.test --list-conformance-tests` prints it. A test is
    /// required if one of its releases is not newer than `release`.
    pub fn from_yaml(text: &str, release: Release, source: impl Into<String>) -> Result<Self, RequiredError> {
        if text.len() > MAX_BYTES {
            return Err(RequiredError::TooLarge(text.len()));
        }
        let entries: Vec<Entry> =
            serde_saphyr::from_str(text).map_err(|error| RequiredError::Form(error.to_string()))?;
        let mut names = BTreeSet::new();
        for entry in entries {
            if entry.codename.is_empty() {
                return Err(RequiredError::Form("an entry has no `codename`".to_owned()));
            }
            if is_required(&entry, release)? {
                names.insert(entry.codename);
            }
        }
        if names.is_empty() {
            return Err(RequiredError::Nothing(release));
        }
        Ok(Self { release, names, source: source.into() })
    }

    /// Returns the list for `release`. For a release that is newer than all lists, it returns the
    /// newest one, as its field `release` tells. `None` if `release` is older than all lists.
    pub fn embedded(lists: &Embedded<'_>, release: Release) -> Result<Option<Self>, ListError> {
        let Some((version, release)) = Self::known(lists).filter(|(_, known)| *known <= release).last() else {
            return Ok(None);
        };
        let Some(list) = lists.exact(version) else { return Ok(None) };
        let names = list?.tests.into_iter().collect();
        Ok(Some(Self {
            release,
            names,
            source: format!("the list of Kubernetes {version} that comes with this program"),
        }))
    }

    /// Returns the versions of the lists, oldest first.
    pub fn known<'a>(lists: &Embedded<'a>) -> impl Iterator<Item = (&'a str, Release)> {
        lists.versions().filter_map(|version| Some((version, version.parse().ok()?)))
    }
}

/// Returns whether a test is required. As in the verifier, the first release that is not newer
/// decides, and later ones are not parsed.
fn is_required(entry: &Entry, release: Release) -> Result<bool, RequiredError> {
    for since in entry.release.split(',') {
        let since: Release =
            since.parse().map_err(|cause| RequiredError::Release { test: entry.codename.clone(), cause })?;
        if since <= release {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_vendors_are_reduced_and_compared_as_numbers() {
        for text in ["v1.30", "1.30", " v1.30.2", "v1.30.2-eks-1a2b", "v1.30+", "1.30.0+k3s1"] {
            assert_eq!(text.parse::<Release>().unwrap().to_string(), "v1.30", "{text}");
        }
        let of = |text: &str| text.parse::<Release>().unwrap();
        assert!(of("v1.9") < of("v1.10") && of("v1.36") < of("v2.0"));
    }

    #[test]
    fn an_invalid_version_is_rejected() {
        for text in ["", "v1", "latest", "v1.x", "v.1", "v1.99999999999", "-1.2", "v1."] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    fn release(text: &str) -> Release {
        text.parse().unwrap()
    }

    #[test]
    fn a_test_is_required_from_any_of_its_releases_on() {
        let text = "- {testname: A, codename: 'a [Conformance]', release: 'v1.9, v1.18'}\n\
                    - {codename: 'b ''quoted''\n    [Conformance]', release: \"1.25\"}\n\
                    - {codename: 'c', release: v1.31}\n- {codename: d, release: 'v1.40,v1.30'}\n- {codename: e, release: 1.30}\n";
        let of = |version: &str| {
            let required = Required::from_yaml(text, release(version), "here").unwrap();
            required.names.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(of("v1.30"), ["a [Conformance]", "b 'quoted' [Conformance]", "d", "e"]);
        assert_eq!(of("v1.10"), ["a [Conformance]"]);
        assert!(of("v1.31").contains(&"c".to_owned()));
    }

    #[test]
    fn an_invalid_list_is_rejected_with_the_reason() {
        for (text, reason) in [
            ("a: b", "not a list of tests"),
            ("- {codename: a, release: soon}", "invalid version `soon`"),
            ("- {release: v1.1}", "no `codename`"),
            ("- {codename: a, release: v1.9}", "no test in it is required for v1.2"),
        ] {
            let error = Required::from_yaml(text, release("v1.2"), "here").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
