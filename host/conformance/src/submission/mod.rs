//! What is submitted of a conformance run to be certified, and the rules that its verifier has for it.
//!
//! A submission is a folder `vX.Y/product` with four files ([`FILES`]): [`assemble`] makes one, [`check`] holds it against every rule that needs no network.
//! The rules are those of the program that looks at submissions (`cncf-infra/verify-conformance`), and so
//! is the way of reading files: [`Cases`] and [`Product`] accept what it accepts. A module could not tell,
//! because modules read more dialects than the verifier does. A test compares the two, rule by rule.

mod assemble;
mod cases;
mod check;
mod contents;
mod finding;
mod go;
mod log;
mod names;
mod place;
mod product;
mod readme;
mod release;
mod required;
mod rules;
mod suite_settings;

pub use assemble::{Assembled, SubmissionError, assemble};
pub use cases::Cases;
pub use check::check;
pub use contents::{Contents, FoundFile};
pub use finding::{Finding, Outcome, Summary};
pub use log::LogVersions;
pub use names::{CONFORMANCE, cleaned};
pub use place::{FILES, JUNIT, LOG, PRODUCT, Place, PlaceError, README};
pub use product::{FIELDS, Product, ProductError, TYPES};
pub use readme::{Facts, readme};
pub use release::{Release, ReleaseError};
pub use required::{Required, RequiredError};
pub use suite_settings::{NotSubmittable, SuiteSettings};
