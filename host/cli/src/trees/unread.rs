//! Files of an archive that nobody read, although the archive calls them passed.

use std::collections::BTreeMap;

use plumbline_core::rollup::{self, REASON};
use plumbline_core::{Item, NOT_READ, Status};

use super::Trees;
use crate::ui::say;

impl Trees {
    /// The leaves below `root`, of the tree of `plugin`, by status, as a verdict counts them; and what a reader must know about them,
    /// on standard error.
    ///
    /// Sonobuoy calls every file passed that it does not read, and a plugin without results too. Its archives are shown as they are,
    /// but such files are `not-read` for the verdict, and a plugin without results has no leaf.
    pub(crate) fn verdict_counts(&self, plugin: &str, root: &Item) -> BTreeMap<String, u64> {
        if root.is_leaf() && root.meta.get("type").is_some_and(|kind| kind == "summary") {
            return BTreeMap::new();
        }
        let mut counts = rollup::counts(root);
        let is_sonobuoys = self.archive.info().plumbline_version.is_none();
        let unread = if is_sonobuoys { root.leaves().filter(|leaf| is_unread_file(leaf)).count() as u64 } else { 0 };
        if unread > 0 {
            let files = if unread == 1 { "1 file was".to_owned() } else { format!("{unread} files were") };
            say(&format!(
                "note: plugin `{plugin}`: {files} collected and not read; the archive says passed, the verdict does not count them"
            ));
            if let Some(passed) = counts.get_mut(Status::Passed.as_str()) {
                *passed = passed.saturating_sub(unread);
            }
            counts.retain(|_, n| *n > 0);
            *counts.entry(NOT_READ.to_owned()).or_default() += unread;
        } else if let Some(reason) = root.meta.get(REASON) {
            say(&format!("note: plugin `{plugin}`: {}", crate::output::one_line(reason)));
        }
        counts
    }
}

/// Whether Sonobuoy made the leaf for a file that it did not read: only such leaves name a file of the results, and no type.
fn is_unread_file(leaf: &Item) -> bool {
    let names_a_result = leaf.meta.get("file").is_some_and(|file| file.starts_with("results"));
    leaf.status == Status::Passed && names_a_result && !leaf.meta.contains_key("type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_files_that_sonobuoy_did_not_read_are_meant() {
        for (leaf, unread) in [
            (json!({"name": "a", "status": "passed", "meta": {"file": "results/n1/a"}}), true),
            (json!({"name": "a", "status": "passed", "meta": {"file": "results\\n1\\a"}}), true),
            (json!({"name": "a", "status": "failed", "meta": {"file": "results/n1/a", "error": "gone"}}), false),
            (json!({"name": "a", "status": "passed", "meta": {"file": "results/n1/a.xml", "type": "file"}}), false),
            (json!({"name": "a", "status": "passed"}), false),
            (json!({"name": "a", "status": "failed", "meta": {"file": "errors/n1/error.json"}}), false),
        ] {
            let item: Item = serde_json::from_value(leaf.clone()).unwrap();
            assert_eq!(is_unread_file(&item), unread, "{leaf}");
        }
    }
}
