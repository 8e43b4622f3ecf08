//! How long plugins took in an earlier run, for an estimate of how long they take now.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::SignedDuration;

use crate::context::{Context, Silent};
use crate::report::text::LeafCounts;
use crate::results::open_input;
use crate::trees::Reprocess;

/// The plugins of an earlier run, by name.
pub type EarlierRun = BTreeMap<String, EarlierPlugin>;

/// A plugin of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierPlugin {
    /// The time from its launch to its end.
    pub took: SignedDuration,
    /// The number of tests that ran.
    pub tests: u64,
}

impl EarlierPlugin {
    /// Returns the remaining time of a plugin that has been running for `elapsed`. `total` is the number
    /// of its tests, or 0 if it is unknown.
    ///
    /// Returns `None` if the number of tests differs by more than a tenth, or if the plugin already runs
    /// longer than before.
    #[must_use]
    pub fn remaining(&self, total: u64, elapsed: SignedDuration) -> Option<SignedDuration> {
        let is_same = total == 0 || self.tests.abs_diff(total) <= total / 10;
        self.took.checked_sub(elapsed).filter(|left| is_same && left.is_positive())
    }
}

/// Reads how long plugins took in the archive at `path`, or in the newest archive of a directory. Only
/// plugins whose launch and end are in the cluster timeline are known. Nothing is known of an archive
/// that cannot be read.
pub fn earlier_run(path: &Path) -> EarlierRun {
    let mut plugins = EarlierRun::new();
    // A use case that needs the archive reports why it cannot be read.
    let Ok(mut trees) = open_input(&Context::new(Silent), path, Reprocess::default(), None) else { return plugins };
    let timeline = trees.timeline();
    for plugin in trees.plugins() {
        let Some((start, Some(end))) = timeline.windows.get(&plugin).copied() else { continue };
        let Ok(root) = trees.item(&plugin) else { continue };
        let tests = {
            let counts = LeafCounts::of(&root);
            counts.passed.saturating_add(counts.failed)
        };
        root.dismantle();
        plugins.insert(plugin, EarlierPlugin { took: end.duration_since(start), tests });
    }
    plugins
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn launch_and_end_in_the_timeline_are_the_time_that_a_plugin_took() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let leaf = |status: &str| json!({"name": status, "status": status});
        let tree = |name: &str| {
            let items = [leaf("passed"), leaf("failed"), leaf("skipped")];
            json!({"name": name, "status": "failed", "items": items}).to_string()
        };
        write("meta/info.json", r#"{"plugins": ["e2e", "endless"]}"#);
        write("plugins/e2e/sonobuoy_results.yaml", &tree("e2e"));
        write("plugins/endless/sonobuoy_results.yaml", &tree("endless"));
        let change = |time: &str, plugin: &str, change: &str| json!({"time": time, "kind": "plugin", "change": change, "plugin": plugin});
        let lines = [
            change("2026-11-25T12:00:00Z", "e2e", "start"),
            change("2026-11-25T12:00:00Z", "endless", "start"),
            change("2026-11-25T13:30:00Z", "e2e", "end"),
        ];
        write("meta/timeline.jsonl", &lines.map(|line| format!("{line}\n")).concat());
        let want = EarlierPlugin { took: SignedDuration::from_mins(90), tests: 2 };
        assert_eq!(earlier_run(dir.path()), EarlierRun::from([("e2e".to_owned(), want)]));
        assert!(earlier_run(&dir.path().join("nobody.tar.gz")).is_empty());
    }

    #[test]
    fn a_plugin_that_differs_has_no_estimate() {
        let earlier = EarlierPlugin { took: SignedDuration::from_mins(90), tests: 400 };
        let minutes = |total: u64, elapsed: i64| {
            earlier.remaining(total, SignedDuration::from_mins(elapsed)).map(|left| left.as_mins())
        };
        assert_eq!((minutes(400, 60), minutes(404, 60), minutes(0, 60)), (Some(30), Some(30), Some(30)));
        assert_eq!((minutes(40, 60), minutes(7000, 60)), (None, None), "other tests");
        assert_eq!((minutes(400, 90), minutes(400, 91)), (None, None), "it takes longer than before");
    }
}
