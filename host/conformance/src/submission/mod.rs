//! Submissions of conformance results for certification, and the rules of their verifier.
//!
//! A submission is a folder `vX.Y/product` with four files ([`FILES`]). [`assemble`] creates one,
//! and [`check`] applies every rule that does not need the network.
//!
//! The rules are those of the program that verifies submissions
//! (`kubernetes-sigs/verify-conformance`, commit 86d380d8115c1715f098cdfd4a161a25bdd32782).
//! [`Cases`] and [`Product`] accept the same input as that program. A module cannot be used here,
//! because modules accept more dialects than the verifier. A test compares both implementations
//! rule by rule.

mod assemble;
mod attempts;
mod cases;
mod check;
mod contents;
mod finding;
mod go;
mod product;
mod required;
mod suite_settings;

pub use assemble::{Assembled, Facts, SubmissionError, assemble, readme};
pub use attempts::log_has_attempts;
pub use cases::{CONFORMANCE, Cases, cleaned};
pub use check::check;
pub use contents::{Contents, FILES, FoundFile, JUNIT, LOG, LogVersions, PRODUCT, PlaceError, README, SubmissionPath};
pub use finding::{Finding, Outcome, Summary, rules};
pub use product::{FIELDS, Product, ProductError, TYPES};
pub use required::{Release, ReleaseError, Required, RequiredError};
pub use suite_settings::{NotSubmittable, SuiteSettings};
