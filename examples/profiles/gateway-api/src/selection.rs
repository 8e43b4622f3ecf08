//! The file `selection.json`, which says where the suite counts each test.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What was selected.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Selection {
    /// The selected conformance profiles.
    pub(crate) profiles: Vec<String>,
    /// A timeout, in seconds, for which the suite has a maximum.
    pub(crate) max_time_to_consistency: f64,
    /// Whether provisional tests are not counted.
    pub(crate) skip_provisional: bool,
    /// All tests of the suite, by name.
    pub(crate) tests: BTreeMap<String, Membership>,
}

/// Where a test is counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Membership {
    /// The level of the test in each selected profile that it belongs to.
    pub(crate) levels: BTreeMap<String, LevelWord>,
    /// Whether the implementation has all features that the test relies on.
    pub(crate) supported: bool,
    /// Whether the test is on trial.
    #[serde(default)]
    pub(crate) provisional: bool,
}

/// A level of support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LevelWord {
    Core,
    Extended,
}
