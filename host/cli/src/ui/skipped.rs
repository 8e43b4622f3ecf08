//! Reports plugins that were skipped.

use std::collections::BTreeSet;

use plumbline_app::report::text::one_line;
use plumbline_core::run_status::RunStatus;

/// The skipped plugins that were already reported.
#[derive(Debug, Default)]
pub(super) struct SkippedPlugins(BTreeSet<String>);

impl SkippedPlugins {
    /// Returns one line for each newly skipped plugin.
    pub(super) fn lines(&mut self, status: &RunStatus) -> Vec<String> {
        let new = status.skipped.iter().filter(|(plugin, _)| self.0.insert((*plugin).clone()));
        new.map(|(plugin, why)| skipped(plugin, why)).collect()
    }
}

/// Returns the line that reports a skipped plugin.
pub(crate) fn skipped(plugin: &str, why: &str) -> String {
    format!("{}: skipped: {}", one_line(plugin), one_line(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once() {
        let status: RunStatus =
            serde_json::from_value(serde_json::json!({"skipped": {"retry": "no test failed in `e2e`\nmore"}})).unwrap();
        let mut told = SkippedPlugins::default();
        assert_eq!(told.lines(&status), ["retry: skipped: no test failed in `e2e`"]);
        assert!(told.lines(&status).is_empty());
    }
}
