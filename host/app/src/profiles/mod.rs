//! Profiles of suites (docs/profiles.md): finds them, applies what a run sets, lists their tests,
//! and copies what is submitted.

mod apply;
mod find;
mod images;
mod kubernetes;
mod lists;
mod select;
mod submit;
mod tests;
mod version;

pub(crate) use apply::{AppliedProfile, applied, apply, wrong_settings};
pub use apply::{ProfileRun, check};
pub use find::{FoundProfile, ListedProfile, find, list};
pub(crate) use images::images;
pub use kubernetes::{KUBERNETES, KUBERNETES_VERSION, UnknownMode, kubernetes, modes, parse_mode};
pub use submit::{Submitted, can_submit, check_submission, submit};
pub use tests::tests_of;
