//! The names of the rules. They stand in outputs that programs read: none is ever changed.

/// The pull request has a title.
pub(super) const TITLE: &str = "title-not-empty";
/// The title names version and product.
pub(super) const TITLE_FORM: &str = "title-form";
/// The version in the title is that of the folder.
pub(super) const TITLE_VERSION: &str = "title-matches-folder";
/// The pull request is one commit.
pub(super) const ONE_COMMIT: &str = "one-commit";
/// The four files are there, not empty, and what they are called.
pub(super) const REQUIRED_FILES: &str = "required-files";
/// There are no others.
pub(super) const NO_OTHER_FILES: &str = "no-other-files";
/// They stand in `vX.Y/product`.
pub(super) const FOLDER: &str = "folder-structure";
/// There is one such folder.
pub(super) const ONE_PRODUCT: &str = "one-product";
/// Fields of `PRODUCT.yaml` that must be there.
pub(super) const PRODUCT_FIELDS: &str = "product-fields";
/// Fields of `PRODUCT.yaml` with addresses.
pub(super) const PRODUCT_ADDRESSES: &str = "product-addresses";
/// The type of the product.
pub(super) const PRODUCT_TYPE: &str = "product-type";
/// Somebody answers at the addresses, with a page.
pub(super) const ADDRESSES_ANSWER: &str = "addresses-answer";
/// The version is one of the last three.
pub(super) const SUPPORTED: &str = "supported-release";
/// The file of results can be read, by the verifier too.
pub(super) const RESULTS_READABLE: &str = "results-readable";
/// All required tests passed.
pub(super) const REQUIRED_TESTS: &str = "required-tests";
/// No conformance test failed.
pub(super) const NO_FAILED_TESTS: &str = "no-failed-tests";
/// The log is of the version of the folder. Ours.
pub(super) const LOG_VERSION: &str = "log-version";
/// Nothing else that a reviewer would send back. Ours.
pub(super) const HUMAN_REVIEW: &str = "human-review";
