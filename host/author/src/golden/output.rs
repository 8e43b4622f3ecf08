//! The actual output of a case.

use std::path::Path;
use std::time::Duration;

use plumbline_aggregator::Usage;
use tempfile::TempDir;

/// Maximum size in bytes of a tree. People read golden cases.
pub(super) const MAX_TREE: u64 = 64 << 20;

/// The actual output.
#[derive(Debug)]
pub(super) struct Actual {
    /// The text to compare with `expected.yaml`.
    pub(super) text: String,
    /// The wall-clock time of the module's call and of the host's work around it.
    pub(super) wall: Duration,
    /// The highest memory usage of one call, in bytes.
    pub(super) memory: u64,
    /// Why the host ended a call, if it did.
    pub(super) broken: Option<String>,
    /// The first error that a module returned.
    pub(super) refused: Option<String>,
}

impl Actual {
    /// Creates the output of calls with this `usage`.
    pub(super) fn new(text: String, wall: Duration, usage: Usage) -> Self {
        let Usage { memory, broken, refused, .. } = usage;
        Self { text, wall, memory, broken: broken.into_iter().next(), refused: refused.into_iter().next() }
    }
}

pub(super) fn scratch() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("failed to create a directory for temporary files: {error}"))
}

/// Checks that an expected output does not contain paths of this machine.
pub(super) fn nothing_local(text: &str, what: &str, places: &[&Path]) -> Result<(), String> {
    match places.iter().find(|place| place.to_str().is_some_and(|place| text.contains(place))) {
        Some(place) => Err(format!("{what} names `{}`, which is elsewhere on other machines", place.display())),
        None => Ok(()),
    }
}

/// Returns the text with a line break at its end.
pub(super) fn ended(text: String) -> String {
    if text.ends_with('\n') { text } else { format!("{text}\n") }
}
