//! Profiles of suites (docs/profiles.md): finds them, applies what a run sets, lists their tests,
//! and copies what is submitted.

mod apply;
mod built_in;
mod bundle;
mod find;
mod images;
mod listing;
mod lists;
mod select;
mod submit;
mod version;

pub(crate) use apply::{AppliedProfile, applied, apply, default_run, wrong_settings};
pub use apply::{ProfileRun, check};
pub use built_in::{
    BuiltInProfile, CLUSTER_VERSION, ChosenProfile, UnknownMode, built_in, mode_help, modes, parse_mode, profile_for,
    suite_profile, suite_tests, with_default_profile,
};
pub(crate) use built_in::{built_in_listing, default_plugin, suite_plugin, suite_required};
pub(crate) use bundle::built_in_bundle;
pub use find::{FoundProfile, ListedProfile, find, list};
pub(crate) use images::{SuiteImages, images};
pub(crate) use listing::{ask_tests, no_program, printed_tests};
pub use listing::{tests_in_image, tests_of};
pub(crate) use select::no_selection;
pub use submit::{Submitted, can_submit, check_submission, mode_to_submit, submit};
