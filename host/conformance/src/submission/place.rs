//! Where a submission stands: `vX.Y/product`, and which files it has.

use std::fmt;

use thiserror::Error;

use super::release::Release;

/// How the product can be set up and the results be had again.
pub const README: &str = "README.md";
/// What the product is.
pub const PRODUCT: &str = "PRODUCT.yaml";
/// The log of the suite.
pub const LOG: &str = "e2e.log";
/// The results of the suite.
pub const JUNIT: &str = "junit_01.xml";

/// The files of a submission: these, and no others.
pub const FILES: [&str; 4] = [README, PRODUCT, LOG, JUNIT];

/// Characters of a product's folder.
const MAX_NAME: usize = 100;

/// The folder of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    release: Release,
    product: String,
}

/// Why a name can be no folder of a product.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` can be no name of a folder: at most {MAX_NAME} letters, digits, `.`, `-` and `_`, of which the first is a letter or digit"
)]
pub struct PlaceError(pub String);

impl Place {
    /// The folder of `product` for `release`.
    ///
    /// # Errors
    /// [`PlaceError`]: the name is none that every file system and every address takes as it is.
    pub fn new(release: Release, product: &str) -> Result<Self, PlaceError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let begins = product.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || product.len() > MAX_NAME || !product.chars().all(fits) {
            return Err(PlaceError(product.chars().take(MAX_NAME).collect()));
        }
        Ok(Self { release, product: product.to_owned() })
    }

    /// A name of a folder made of the name of a product: `My  Engine (2)` is `my-engine-2`.
    #[must_use]
    pub fn folder_of(name: &str) -> String {
        let words = name.to_lowercase();
        let words = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').filter(|word| !word.is_empty());
        let joined = words.collect::<Vec<_>>().join("-");
        joined.trim_start_matches('.').chars().take(MAX_NAME).collect()
    }

    /// The version.
    #[must_use]
    pub fn release(&self) -> Release {
        self.release
    }

    /// The folder below that of the version.
    #[must_use]
    pub fn product(&self) -> &str {
        &self.product
    }

    /// What the pull request is to be called.
    #[must_use]
    pub fn title(&self) -> String {
        format!("Conformance results for {self}")
    }
}

impl fmt::Display for Place {
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
            assert_eq!(Place::folder_of(name), folder);
        }
        let place = Place::new("v1.30.2".parse().unwrap(), "my-engine").unwrap();
        assert_eq!(place.to_string(), "v1.30/my-engine");
        assert_eq!(place.title(), "Conformance results for v1.30/my-engine");
    }

    #[test]
    fn what_leaves_the_folder_is_no_name() {
        for name in ["", "..", "../x", "a/b", "a b", "-rf", ".git", &"x".repeat(101)] {
            assert!(Place::new("v1.30".parse().unwrap(), name).is_err(), "{name}");
        }
    }
}
