//! Which tests a submission must have passed.

use std::collections::BTreeSet;

use serde::Deserialize;
use thiserror::Error;

use super::release::{Release, ReleaseError};

/// The lists that come with this program (`data/required/README.md` says where they are from).
const EMBEDDED: [(&str, &str); 2] = [
    ("v1.30", include_str!("../../data/required/v1.30.txt")),
    ("v1.36", include_str!("../../data/required/v1.36.txt")),
];

/// Bytes of a `conformance.yaml`: 16 MiB. That of v1.36 has 240 KiB.
const MAX_BYTES: usize = 16 << 20;

/// The tests that a submission for one version must have passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Required {
    /// The version.
    pub release: Release,
    /// Their names, without `[It] `.
    pub names: BTreeSet<String>,
    /// Where they are from, for a person.
    pub source: String,
}

/// Why a text is no list of required tests.
#[derive(Debug, Error)]
pub enum RequiredError {
    /// Larger than 16 MiB.
    #[error("it has {0} bytes: a list of required tests has at most {MAX_BYTES}")]
    TooLarge(usize),
    /// No YAML of the form that the suite gives.
    #[error("it is no list of tests with `codename` and `release`: {0}")]
    Form(String),
    /// A `release` that is none.
    #[error("the release of test `{test}` cannot be read: {cause}")]
    Release {
        /// The test.
        test: String,
        /// Why.
        cause: ReleaseError,
    },
    /// Nothing in it is required.
    #[error("no test in it is required for {0}")]
    Nothing(Release),
}

/// An entry of `conformance.yaml`.
#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    codename: String,
    /// One release, or several with commas between them: since when it is required, again and again.
    #[serde(default)]
    release: String,
}

impl Required {
    /// Reads a `conformance.yaml`, as `e2e.test --list-conformance-tests` prints it: of its tests those of which one release is not newer than `release`.
    ///
    /// # Errors
    /// [`RequiredError`]
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

    /// The list for `release` that comes with this program, if it has one.
    #[must_use]
    pub fn embedded(release: Release) -> Option<Self> {
        let wanted = release.to_string();
        let (_, text) = EMBEDDED.iter().find(|(known, _)| *known == wanted)?;
        let names = text.lines().map(str::to_owned).collect();
        Some(Self { release, names, source: format!("the list of Kubernetes {release} that comes with this program") })
    }

    /// The versions for which [`Required::embedded`] has a list.
    pub fn known() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(version, _)| *version)
    }
}

/// The first release that is not newer decides, as in the verifier: what stands behind it is not read.
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
    fn what_is_no_such_list_says_why() {
        for (text, reason) in [
            ("a: b", "no list of tests"),
            ("- {codename: a, release: soon}", "`soon` is no version"),
            ("- {release: v1.1}", "no `codename`"),
            ("- {codename: a, release: v1.9}", "no test in it is required for v1.2"),
        ] {
            let error = Required::from_yaml(text, release("v1.2"), "here").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn lists_that_come_with_the_program_are_sorted_and_whole() {
        for (version, count) in [("v1.30", 402), ("v1.36", 446)] {
            let required = Required::embedded(release(version)).unwrap();
            assert_eq!(required.names.len(), count);
            assert!(required.names.iter().all(|name| name.contains(super::super::CONFORMANCE)));
        }
        assert_eq!(Required::embedded(release("v1.29")), None);
        assert_eq!(Required::known().collect::<Vec<_>>(), ["v1.30", "v1.36"]);
    }
}
