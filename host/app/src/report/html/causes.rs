//! Failures grouped by cause.

use std::collections::HashMap;

use plumbline_core::Digest;
use serde::Serialize;

use crate::report::html::section::Test;

/// The template of failures without a message.
const NO_MESSAGE: &str = "(no message)";

/// Failures with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cause {
    /// The ID, which depends only on the template.
    pub(super) id: String,
    /// What the messages of the failures have in common.
    pub(super) template: String,
    /// The number of failures.
    pub(super) count: usize,
    /// The numbers of the failed items.
    pub(super) items: Vec<u32>,
}

/// Groups failures by the line that explains them. Causes are in the order of their first failures.
pub(super) fn causes_of(tests: &[Test]) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for leaf in tests.iter().flat_map(|test| &test.failed.leaves) {
        let template = leaf.reason.as_deref().unwrap_or(NO_MESSAGE);
        let at = *known.entry(template).or_insert(causes.len());
        match causes.get_mut(at) {
            Some(cause) => {
                cause.count += 1;
                cause.items.push(leaf.item);
            }
            None => causes.push(Cause {
                id: Digest::of(template.as_bytes()).hex().chars().take(12).collect(),
                template: template.to_owned(),
                count: 1,
                items: vec![leaf.item],
            }),
        }
    }
    causes
}
