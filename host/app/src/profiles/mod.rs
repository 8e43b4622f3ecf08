//! Profiles of suites (docs/profiles.md): finds them, applies what a run sets, lists their tests,
//! and copies what is submitted.

mod apply;
mod built_in;
mod find;
mod images;
mod lists;
mod select;
mod submit;
mod tests;
mod version;

pub(crate) use apply::{AppliedProfile, applied, apply, wrong_settings};
pub use apply::{ProfileRun, check};
pub use built_in::{
    BuiltInProfile, CLUSTER_VERSION, UnknownMode, built_in, built_in_for, default_profile, mode_help, modes,
    parse_mode, with_default_profile,
};
pub use find::{FoundProfile, ListedProfile, find, list};
pub(crate) use images::images;
pub use submit::{Submitted, can_submit, check_submission, mode_to_submit, submit};
pub use tests::tests_of;
