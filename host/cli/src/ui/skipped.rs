//! Plugins that are part of a run no longer.

use std::collections::BTreeSet;

use plumbline_app::report::text::one_line;
use plumbline_core::run_status::RunStatus;

/// Tells of each once.
#[derive(Debug, Default)]
pub(super) struct SkippedPlugins(BTreeSet<String>);

impl SkippedPlugins {
    /// A line for each that is new.
    pub(super) fn lines(&mut self, status: &RunStatus) -> Vec<String> {
        let new = status.skipped.iter().filter(|(plugin, _)| self.0.insert((*plugin).clone()));
        new.map(|(plugin, why)| skipped(plugin, why)).collect()
    }
}

/// What is told of a plugin that was skipped.
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
