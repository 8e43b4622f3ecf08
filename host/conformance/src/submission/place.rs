//! Location of a submission, `vX.Y/product`, and its files.

use std::fmt;

use thiserror::Error;

use super::release::Release;

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
    release: Release,
    product: String,
}

/// Error for a string that is not a valid folder name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` can be no name of a folder: at most {MAX_NAME} letters, digits, `.`, `-` and `_`, of which the first is a letter or digit"
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
    #[must_use]
    pub fn folder_of(name: &str) -> String {
        let words = name.to_lowercase();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| !word.is_empty());
        let joined = words.collect::<Vec<_>>().join("-");
        joined.trim_start_matches('.').chars().take(MAX_NAME).collect()
    }

    /// Returns the version.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// Returns the name of the product's folder.
    #[must_use]
    pub fn product(&self) -> &str {
        &self.product
    }

    /// Returns the title of the pull request.
    #[must_use]
    pub fn title(&self) -> String {
        format!("Conformance results for {self}")
    }
}

impl fmt::Display for SubmissionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.release, self.product)
    }
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
    fn what_leaves_the_folder_is_no_name() {
        for name in ["", "..", "../x", "a/b", "a b", "-rf", ".git", &"x".repeat(101)] {
            assert!(SubmissionPath::new("v1.30".parse().unwrap(), name).is_err(), "{name}");
        }
    }
}
