//! Failures grouped by cause, over all plugins of the page.

use std::collections::HashMap;

use plumbline_core::Digest;
use serde::Serialize;

use crate::report::html::failed::{FailedLeaf, Test};

/// The template of failures without a message.
const NO_MESSAGE: &str = "(no message)";

/// The failures on the page with the same cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PageCause {
    /// The ID, which depends only on the template.
    pub(super) id: String,
    /// What the messages of the failures have in common.
    pub(super) template: String,
    /// The number of failures.
    pub(super) count: usize,
    /// The numbers of the failed items.
    pub(super) items: Vec<u32>,
}

/// Groups failures by cause, or without one by the line that explains them. Causes are in the order
/// of their first failures.
pub(super) fn causes_of(tests: &[Test]) -> Vec<PageCause> {
    let mut causes: Vec<PageCause> = Vec::new();
    let mut known: HashMap<(bool, &str), usize> = HashMap::new();
    for leaf in tests.iter().flat_map(|test| &test.failed.leaves) {
        let template = template(leaf);
        let key = leaf.cause.as_ref().map_or((false, template), |cause| (true, cause.id.as_str()));
        let at = *known.entry(key).or_insert(causes.len());
        match causes.get_mut(at) {
            Some(cause) => {
                cause.count += 1;
                cause.items.push(leaf.item);
            }
            None => {
                causes.push(PageCause { id: id(leaf), template: template.to_owned(), count: 1, items: vec![leaf.item] })
            }
        }
    }
    causes
}

fn template(leaf: &FailedLeaf) -> &str {
    match &leaf.cause {
        Some(cause) => &cause.template,
        None => leaf.reason.as_deref().unwrap_or(NO_MESSAGE),
    }
}

fn id(leaf: &FailedLeaf) -> String {
    match &leaf.cause {
        Some(cause) => cause.id.clone(),
        None => Digest::of(template(leaf).as_bytes()).hex().chars().take(12).collect(),
    }
}
