//! Profiles of conformance suites (docs/profiles.md).
//!
//! A profile is the file `profile.yaml` next to a plugin definition. It says what users may set,
//! and how a value reaches the suite.
//!
//! ```text
//! profile.yaml ─▶ Profile ─▶ Settings::choose(mode, values) ─▶ Settings::apply(definition) ─▶ Applied
//! ```
//!
//! Nothing here reads files or contacts a cluster.

mod apply;
mod error;
#[cfg(test)]
mod messages;
mod model;
mod read;
mod schema;
mod settings;
mod tests_list;
mod value;

pub use apply::{Applied, ApplyError, Place, SECRET};
pub use error::ProfileError;
pub use model::{
    Listing, ListingFormat, LocalForm, MAX_PROFILE_BYTES, OptionType, PROFILE_FILE, Profile, ProfileMode,
    ProfileOption, Source, SubmittedFile, TestSelection, VERSION_PLACEHOLDER, Version,
};
pub use schema::profile_schema_text;
pub use settings::{Given, Settings, SettingsError};
pub use tests_list::{ListError, MAX_LIST_BYTES, MAX_REQUIRED, MAX_TESTS, parse_tests};
pub use value::{MAX_VALUE_BYTES, ValueError};
