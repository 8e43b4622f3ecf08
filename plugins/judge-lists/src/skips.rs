//! The judge `allowed-skips`: the tests that may be skipped.

use plumbline_sdk::Status;
use regex::bytes::Regex;

use crate::list::{Found, List};
use crate::rules::{Leaf, Rules, Said, join, unused};

/// Allows listed tests to be skipped. Of the others, required tests must not be skipped.
pub(crate) struct Skips {
    pub(crate) list: List,
    /// The required tests; `None` means all.
    pub(crate) required: Option<Regex>,
}

impl Rules for Skips {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        if leaf.status.meaning() != Status::Skipped {
            return None;
        }
        let not_allowed = |reason, source| Said { class: "skip-not-allowed", counts: true, reason, source };
        match self.list.find(leaf) {
            Some(Found::Listed(entry)) => {
                let reason =
                    if entry.reason.is_empty() { "it may be skipped".to_owned() } else { entry.reason.clone() };
                Some(Said { class: "allowed-skip", counts: false, reason, source: entry.source() })
            }
            Some(Found::Expired(entry, until)) => {
                let reason = join(&format!("skipping it was allowed until {until}, which has passed"), &entry.reason);
                Some(not_allowed(reason, entry.source()))
            }
            None => {
                let required = self.required.as_ref().is_none_or(|pattern| pattern.is_match(leaf.name.as_bytes()));
                let reason = || "it was skipped, and is not in the list of what may be".to_owned();
                required.then(|| not_allowed(reason(), String::new()))
            }
        }
    }

    fn remark(&self) -> Option<String> {
        unused(&self.list)
    }
}
