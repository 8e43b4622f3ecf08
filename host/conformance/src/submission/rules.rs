//! Names of the rules. They are part of machine-readable output and never change.

/// The pull request has a title.
pub(super) const TITLE: &str = "title-not-empty";
/// The title contains version and product.
pub(super) const TITLE_FORM: &str = "title-form";
/// The version in the title matches the folder.
pub(super) const TITLE_VERSION: &str = "title-matches-folder";
/// The pull request has one commit.
pub(super) const ONE_COMMIT: &str = "one-commit";
/// The four files exist, are not empty and can be read.
pub(super) const REQUIRED_FILES: &str = "required-files";
/// There are no other files.
pub(super) const NO_OTHER_FILES: &str = "no-other-files";
/// The files are in `vX.Y/product`.
pub(super) const FOLDER: &str = "folder-structure";
/// There is only one such folder.
pub(super) const ONE_PRODUCT: &str = "one-product";
/// The required fields of `PRODUCT.yaml` have a value.
pub(super) const PRODUCT_FIELDS: &str = "product-fields";
/// The URLs and the mail address in `PRODUCT.yaml` are well-formed.
pub(super) const PRODUCT_ADDRESSES: &str = "product-addresses";
/// The type of the product is known.
pub(super) const PRODUCT_TYPE: &str = "product-type";
/// The URLs return a page.
pub(super) const ADDRESSES_ANSWER: &str = "addresses-answer";
/// The version is one of the last three minor versions.
pub(super) const SUPPORTED: &str = "supported-release";
/// The verifier can read the file of results.
pub(super) const RESULTS_READABLE: &str = "results-readable";
/// All required tests passed.
pub(super) const REQUIRED_TESTS: &str = "required-tests";
/// No conformance test failed.
pub(super) const NO_FAILED_TESTS: &str = "no-failed-tests";
/// The version in the log matches the folder. The verifier does not have this rule.
pub(super) const LOG_VERSION: &str = "log-version";
/// There is nothing else that a reviewer would reject. The verifier does not have this rule.
pub(super) const HUMAN_REVIEW: &str = "human-review";
