//! Which plugins of a run were skipped, each printed once.

use std::collections::BTreeSet;

use plumbline_app::report::status::skipped;
use plumbline_core::run_status::RunStatus;

/// The skipped plugins that were printed.
#[derive(Debug, Default)]
pub(super) struct SkippedPlugins(BTreeSet<String>);

impl SkippedPlugins {
    /// Returns one line for each newly skipped plugin.
    pub(super) fn lines(&mut self, status: &RunStatus) -> Vec<String> {
        let new = status.skipped.iter().filter(|(plugin, _)| self.0.insert((*plugin).clone()));
        new.map(|(plugin, why)| skipped(plugin, why)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skipped_plugin_is_reported_once() {
        let status: RunStatus =
            serde_json::from_value(serde_json::json!({"skipped": {"retry": "no test failed in `e2e`\nmore"}})).unwrap();
        let mut skipped = SkippedPlugins::default();
        assert_eq!(skipped.lines(&status), ["retry: skipped: no test failed in `e2e`"]);
        assert!(skipped.lines(&status).is_empty());
    }
}
