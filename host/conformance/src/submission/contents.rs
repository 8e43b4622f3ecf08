//! A submission: its version, its folder `vX.Y/product`, its files, and the versions in its log.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

use super::cases::Cases;
use super::required::{Release, Required};

/// Description of how to set up the product and reproduce the results.
pub const README: &str = "README.md";
/// Description of the product.
pub const PRODUCT: &str = "PRODUCT.yaml";
/// Log of the suite.
pub const LOG: &str = "e2e.log";
/// Results of the suite.
pub const JUNIT: &str = "junit_01.xml";

/// The files of a submission. Other files are not allowed.
pub const FILES: [&str; 4] = [README, PRODUCT, LOG, JUNIT];

/// Maximum length of a product's folder name, in characters.
const MAX_NAME: usize = 100;

/// Folder of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionPath {
    pub(super) release: Release,
    pub(super) product: String,
}

/// Error for a string that is not a valid folder name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "invalid folder name `{0}`: use at most {MAX_NAME} letters, digits, `.`, `-` and `_`, and begin with a letter or digit"
)]
pub struct PlaceError(pub String);

impl SubmissionPath {
    /// Returns the folder of `product` for `release`.
    ///
    /// # Errors
    /// [`PlaceError`] when the name is not safe for every file system and URL.
    pub fn new(release: Release, product: &str) -> Result<Self, PlaceError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let begins = product.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || product.len() > MAX_NAME || !product.chars().all(fits) {
            return Err(PlaceError(product.chars().take(MAX_NAME).collect()));
        }
        Ok(Self { release, product: product.to_owned() })
    }

    /// Returns a folder name for a product name: `My  Engine (2)` becomes `my-engine-2`.
    pub fn folder_of(name: &str) -> String {
        let words = name.to_lowercase();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| !word.is_empty());
        let joined = words.collect::<Vec<_>>().join("-");
        joined.trim_start_matches('.').chars().take(MAX_NAME).collect()
    }

    /// Returns the title of the pull request.
    pub fn title(&self) -> String {
        format!("Conformance results for {self}")
    }
}

impl fmt::Display for SubmissionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.release, self.product)
    }
}

/// A file of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Path relative to the parent of the version folders, with `/`: `v1.30/engine/README.md`.
    pub path: String,
    /// Size in bytes. For a symbolic link, it is the length of the target, because Git stores the
    /// target as the content.
    pub bytes: u64,
}

impl FoundFile {
    /// Returns the first of `files` with this name. Like the verifier, it ignores case.
    pub fn find<'a>(files: &'a [Self], name: &str) -> Option<&'a Self> {
        files.iter().find(|file| file.name().eq_ignore_ascii_case(name))
    }

    /// Returns the folder of the file. Empty at the top level.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the name of the file without its folder.
    pub fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }
}

/// The parts of a submission that the rules check.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// All files, sorted by path.
    pub files: &'a [FoundFile],
    /// Content of `PRODUCT.yaml`. `None` if it is missing.
    pub product: Option<&'a [u8]>,
    /// Versions in the log.
    pub log: &'a LogVersions,
    /// Results. `None` if they are missing.
    pub cases: Option<&'a Cases>,
    /// Required tests of the version. `None` if they are not known.
    pub required: Option<&'a Required>,
}

impl<'a> Contents<'a> {
    /// Returns the folders that contain files, sorted.
    pub(super) fn folders(&self) -> BTreeSet<&'a str> {
        self.files.iter().map(FoundFile::folder).collect()
    }

    /// Returns the version of the first file in a version folder.
    pub fn release(&self) -> Option<Release> {
        let first = self.files.iter().find_map(|file| version_in(file.folder()))?;
        first.parse().ok()
    }
}

/// Returns the version that the verifier finds in a folder. It searches `v1.[0-9]{2}/` anywhere,
/// where `.` is any character.
pub(super) fn version_in(folder: &str) -> Option<&str> {
    folder.match_indices("v1").find_map(|(at, _)| {
        let rest = folder.get(at..)?;
        let any = rest.chars().nth(2)?;
        let end = 4 + any.len_utf8();
        let digits = rest.get(2 + any.len_utf8()..end)?;
        let product = rest.get(end..)?.strip_prefix('/')?;
        (digits.bytes().all(|digit| digit.is_ascii_digit()) && !product.is_empty()).then(|| rest.get(..end))?
    })
}

/// Returns the version of a folder that is exactly `vX.YY/product`.
pub(super) fn release_of(folder: &str) -> Option<Release> {
    let (version, product) = folder.split_once('/')?;
    let digits = version.strip_prefix("v1.")?;
    let is_version = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit());
    (is_version && !product.is_empty() && !product.contains('/')).then(|| version.parse().ok()).flatten()
}

/// Text before the version of the suite.
const SUITE: &str = "e2e test version: ";
/// Text before the version of the cluster.
const CLUSTER: &str = "kube-apiserver version: ";

/// The versions in a log, which are the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogVersions {
    /// Version of the suite, as written.
    pub suite: Option<String>,
    /// Version of the cluster, as written.
    pub cluster: Option<String>,
}

impl LogVersions {
    /// Reads the versions from the start of a log.
    pub fn read(head: &str) -> Self {
        let mut found = Self::default();
        for line in head.lines() {
            found.suite = found.suite.or_else(|| after(line, SUITE));
            found.cluster = found.cluster.or_else(|| after(line, CLUSTER));
            if found.suite.is_some() && found.cluster.is_some() {
                break;
            }
        }
        found
    }

    /// Returns the minor version of the cluster, or else of the suite.
    pub fn release(&self) -> Option<Release> {
        self.cluster.as_deref().or(self.suite.as_deref())?.parse().ok()
    }
}

fn after(line: &str, words: &str) -> Option<String> {
    let (_, rest) = line.split_once(words)?;
    let version = rest.split_whitespace().next()?;
    // Ignore strings that are not versions.
    version.parse::<Release>().ok()?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_products_become_folders() {
        for (name, folder) in
            [("My  Engine (2)", "my-engine-2"), ("K8s.io/Thing", "k8s.io-thing"), ("..", ""), ("Ünï", "n")]
        {
            assert_eq!(SubmissionPath::folder_of(name), folder);
        }
        let place = SubmissionPath::new("v1.30.2".parse().unwrap(), "my-engine").unwrap();
        assert_eq!(place.to_string(), "v1.30/my-engine");
        assert_eq!(place.title(), "Conformance results for v1.30/my-engine");
    }

    #[test]
    fn a_name_that_leaves_the_folder_is_invalid() {
        for name in ["", "..", "../x", "a/b", "a b", "-rf", ".git", &"x".repeat(101)] {
            assert!(SubmissionPath::new("v1.30".parse().unwrap(), name).is_err(), "{name}");
        }
    }

    #[test]
    fn versions_are_found_as_the_verifier_finds_them() {
        for (folder, version) in [
            ("v1.30/engine", Some("v1.30")),
            ("a/v1.30/engine/b", Some("v1.30")),
            ("v1v1.30/engine", Some("v1.30")),
            ("v1x30/engine", Some("v1x30")),
            ("v1é30/engine", Some("v1é30")),
            ("v1.3/engine", None),
            ("v1.300/engine", None),
            ("v1.30", None),
            ("", None),
        ] {
            assert_eq!(version_in(folder), version, "{folder}");
        }
    }

    #[test]
    fn the_first_of_each_kind_counts() {
        let log = "Running Suite\nAug 17 17:04:34.815: INFO: e2e test version: v1.21.1\nI0817 kube-apiserver version: v1.22.0-eks-1\n\
                   e2e test version: v1.9.0\n";
        let found = LogVersions::read(log);
        assert_eq!(found.suite.as_deref(), Some("v1.21.1"));
        assert_eq!(found.cluster.as_deref(), Some("v1.22.0-eks-1"));
        assert_eq!(found.release().unwrap().to_string(), "v1.22");
        assert_eq!(LogVersions::read("e2e test version: soon").release(), None);
    }
}
