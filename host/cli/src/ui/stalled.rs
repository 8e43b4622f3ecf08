//! Detects plugins whose progress does not change, and names the command that shows their logs.

use jiff::{SignedDuration, Timestamp};
use plumbline_core::run_status::NEVER;
use plumbline_core::run_status::{EntryStatus, PluginStatus, RunStatus};
use plumbline_core::{GLOBAL, PluginName};
use plumbline_kubernetes::names;

/// Time without progress after which a plugin is reported as stalled: 10 min. Single tests seldom
/// take longer.
const STALLED: SignedDuration = SignedDuration::from_mins(10);

/// Returns how long the progress of an expected result has not changed at `now`, if that is long.
/// The time counts from its last update or launch. Plugins on each node count only if they report
/// progress: most do not, and they have many results.
pub(crate) fn stalled(status: &RunStatus, entry: &PluginStatus, now: Timestamp) -> Option<SignedDuration> {
    if entry.status != EntryStatus::Running {
        return None;
    }
    let told = entry.progress.as_ref().map(|progress| progress.timestamp).filter(|&at| at != NEVER);
    let launched = status.launched.get(&entry.plugin).copied();
    let since = match told {
        // The launch is later if the plugin was started again after a restart of the aggregator.
        Some(told) => launched.map_or(told, |launched| launched.max(told)),
        None if entry.node == GLOBAL => launched?,
        None => return None,
    };
    let still = now.duration_since(since);
    (still >= STALLED).then_some(still)
}

/// Returns the command that shows the logs of a plugin in a cluster. For an invalid plugin name, it
/// shows all logs.
pub(crate) fn logs_command(plugin: &str, namespace: &str) -> String {
    let plugin = plugin.parse::<PluginName>().map(|name| format!(" --plugin {name}")).unwrap_or_default();
    let namespace = if namespace == names::DEFAULT_NAMESPACE { String::new() } else { format!(" -n {namespace}") };
    format!("plumbline logs{plugin}{namespace}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn minutes(launched: Value, entry: Value) -> Option<i64> {
        let status: RunStatus = serde_json::from_value(json!({"plugins": [entry], "launched": launched})).unwrap();
        let now = "2026-11-20T13:00:00Z".parse().unwrap();
        stalled(&status, &status.plugins.as_ref().unwrap()[0], now).map(|still| still.as_mins())
    }

    #[test]
    fn the_last_update_counts_or_else_the_launch() {
        let entry = |node: &str, status: &str, told: Option<&str>| {
            let progress = told.map(|at| json!({"timestamp": format!("2026-11-20T12:{at}:00Z"), "total": 7}));
            json!({"plugin": "e2e", "node": node, "status": status, "progress": progress})
        };
        let launched = |at: &str| json!({"e2e": format!("2026-11-20T12:{at}:00Z"), "other": "2026-11-20T01:00:00Z"});
        let cases = [
            (launched("00"), entry("global", "running", Some("50")), Some(10)),
            (launched("00"), entry("global", "running", Some("51")), None),
            (launched("00"), entry("global", "running", None), Some(60)),
            (launched("55"), entry("global", "running", None), None),
            (launched("55"), entry("global", "running", Some("10")), None),
            (json!({}), entry("global", "running", None), None),
            (json!({}), entry("global", "running", Some("10")), Some(50)),
            (launched("00"), entry("n1", "running", None), None),
            (launched("00"), entry("n1", "running", Some("10")), Some(50)),
            (launched("00"), entry("global", "complete", Some("10")), None),
            (launched("00"), entry("global", "failed", None), None),
        ];
        for (launched, entry, expected) in cases {
            assert_eq!(minutes(launched.clone(), entry.clone()), expected, "{launched} {entry}");
        }
    }

    #[test]
    fn the_command_finds_the_plugin_where_it_is() {
        assert_eq!(logs_command("e2e", names::DEFAULT_NAMESPACE), "plumbline logs --plugin e2e");
        assert_eq!(logs_command("systemd_logs", "checks"), "plumbline logs -n checks");
    }
}
