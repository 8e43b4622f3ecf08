//! What a case gave.

use std::path::Path;
use std::time::Duration;

use plumbline_aggregator::Usage;
use tempfile::TempDir;

/// Bytes of a tree. Golden cases are read by people.
pub(super) const MAX_TREE: u64 = 64 << 20;

/// What came out.
#[derive(Debug)]
pub(super) struct Actual {
    /// As it would stand in `expected.yaml`.
    pub(super) text: String,
    /// Of the call of the module and what the host does around it.
    pub(super) wall: Duration,
    /// The most memory that one call of a module used, in bytes.
    pub(super) memory: u64,
    /// Why calls had to be ended, if any.
    pub(super) broken: Option<String>,
    /// The first error that a module returned in its own words.
    pub(super) refused: Option<String>,
}

impl Actual {
    /// Of calls that used and did what `usage` says.
    pub(super) fn new(text: String, wall: Duration, usage: Usage) -> Self {
        let Usage { memory, broken, refused, .. } = usage;
        Self { text, wall, memory, broken: broken.into_iter().next(), refused: refused.into_iter().next() }
    }
}

pub(super) fn scratch() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("failed to create a directory for temporary files: {error}"))
}

/// What is blessed must hold on other machines too.
pub(super) fn nothing_local(text: &str, what: &str, places: &[&Path]) -> Result<(), String> {
    match places.iter().find(|place| place.to_str().is_some_and(|place| text.contains(place))) {
        Some(place) => Err(format!("{what} names `{}`, which is elsewhere on other machines", place.display())),
        None => Ok(()),
    }
}

/// With the end of its last line.
pub(super) fn ended(text: String) -> String {
    if text.ends_with('\n') { text } else { format!("{text}\n") }
}
