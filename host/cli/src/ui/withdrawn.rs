//! Plugins that are part of a run no longer.

use std::collections::BTreeSet;

use plumbline_app::report::text::one_line;
use plumbline_core::run_status::RunStatus;

/// Tells of each once.
#[derive(Debug, Default)]
pub(super) struct Withdrawals(BTreeSet<String>);

impl Withdrawals {
    /// A line for each that is new.
    pub(super) fn lines(&mut self, status: &RunStatus) -> Vec<String> {
        let new = status.withdrawn.iter().filter(|(plugin, _)| self.0.insert((*plugin).clone()));
        new.map(|(plugin, why)| withdrawn(plugin, why)).collect()
    }
}

/// What is told of a plugin that was withdrawn.
pub(crate) fn withdrawn(plugin: &str, why: &str) -> String {
    format!("{}: withdrawn: {}", one_line(plugin), one_line(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once() {
        let status: RunStatus =
            serde_json::from_value(serde_json::json!({"withdrawn": {"retry": "no test failed in `e2e`\nmore"}}))
                .unwrap();
        let mut told = Withdrawals::default();
        assert_eq!(told.lines(&status), ["retry: withdrawn: no test failed in `e2e`"]);
        assert!(told.lines(&status).is_empty());
    }
}
