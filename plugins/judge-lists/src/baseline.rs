//! The judge `baseline`: the failures of an earlier run.

use std::collections::HashSet;

use crate::name::plain;
use crate::options::Others;
use crate::problems::cut;
use crate::rules::{Leaf, Rules, Said};

/// Maximum number of bytes of the source to show.
const MAX_SOURCE: usize = 2000;

/// Excuses the failures of an earlier run. Other failures are new.
pub(crate) struct Baseline {
    failed: HashSet<String>,
    source: String,
    others: Others,
}

impl Baseline {
    pub(crate) fn new(failed: &[String], source: &str, others: Others) -> Self {
        let failed = failed.iter().map(|name| plain(name).to_owned()).collect();
        Self { failed, source: cut(source, MAX_SOURCE), others }
    }
}

impl Rules for Baseline {
    fn say(&mut self, leaf: &Leaf<'_>) -> Option<Said> {
        if !leaf.failed() {
            return None;
        }
        let source = self.source.clone();
        if self.failed.contains(leaf.full_name) || self.failed.contains(leaf.name) {
            let reason = "it failed in the baseline, too".to_owned();
            return Some(Said { class: "baseline-failure", counts: false, reason, source });
        }
        let reason = || "it did not fail in the baseline".to_owned();
        (self.others == Others::NewFailure).then(|| Said {
            class: "new-failure",
            counts: true,
            reason: reason(),
            source,
        })
    }
}
