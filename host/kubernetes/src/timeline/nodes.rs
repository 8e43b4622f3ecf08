//! The changes of a node, as entries.

use jiff::Timestamp;
use plumbline_core::timeline::{Change, TimelineEntry, TimelineKind};

use crate::nodes::{Condition, NodeView};

/// The conditions that Kubernetes sets itself. Others may be permanent on some platforms.
const CONDITIONS: [&str; 5] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/// The taints that repeat a condition of the node.
const REPEATED: [&str; 6] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable",
];

/// The prefixes of taints that Kubernetes sets itself.
const OWN_TAINTS: [&str; 2] = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/// What was known of a node before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before<'a> {
    /// Nothing yet: the node is in the first list.
    Unknown,
    /// The node did not exist.
    Absent,
    /// The node was like this.
    Seen(&'a NodeView),
}

/// Returns the states that started or ended. Of a node in the first list, these are the states that
/// Kubernetes sets itself, because others may be permanent.
pub(super) fn node_changes(before: Before<'_>, after: &NodeView, now: Timestamp) -> Vec<TimelineEntry> {
    let (old, is_first) = match before {
        Before::Unknown => (None, true),
        Before::Absent => (None, false),
        Before::Seen(node) => (Some(node), false),
    };
    let mut entries = Vec::new();
    if matches!(before, Before::Absent) {
        let text = format!("node {} joined the cluster", after.name);
        entries.push(TimelineEntry::new(now, TimelineKind::NodeAdded, "", &text));
    }
    let (were, are) = (old.map(|old| old.conditions.as_slice()).unwrap_or_default(), after.conditions.as_slice());
    let has = |all: &[Condition], kind: &str| all.iter().any(|condition| condition.kind == kind);
    for Condition { kind, text, since } in are {
        if !has(were, kind) && (!is_first || CONDITIONS.contains(&kind.as_str())) {
            let time = since.filter(|since| *since <= now).unwrap_or(now);
            entries.push(state(time, TimelineKind::NodeCondition, Change::Start, kind, text));
        }
    }
    for Condition { kind, .. } in were.iter().filter(|were| !has(are, &were.kind)) {
        let text = format!("{kind} is as on a healthy node");
        entries.push(state(now, TimelineKind::NodeCondition, Change::End, kind, &text));
    }
    let (had, has) = (old.map(|old| old.taints.as_slice()).unwrap_or_default(), after.taints.as_slice());
    for taint in has.iter().filter(|taint| !had.contains(taint) && is_recorded(taint, is_first)) {
        let text = format!("has the taint {taint}");
        entries.push(state(now, TimelineKind::NodeTaint, Change::Start, taint, &text));
    }
    for taint in had.iter().filter(|taint| !has.contains(taint) && is_recorded(taint, false)) {
        let text = format!("no longer has the taint {taint}");
        entries.push(state(now, TimelineKind::NodeTaint, Change::End, taint, &text));
    }
    entries.into_iter().map(|entry| entry.on_node(Some(&after.name))).collect()
}

pub(super) fn node_removed(name: &str, now: Timestamp) -> TimelineEntry {
    let text = format!("node {name} was removed from the cluster");
    TimelineEntry::new(now, TimelineKind::NodeRemoved, "", &text).on_node(Some(name))
}

fn state(time: Timestamp, kind: TimelineKind, change: Change, name: &str, text: &str) -> TimelineEntry {
    TimelineEntry::new(time, kind, name, text).change(change)
}

fn is_recorded(taint: &str, is_first: bool) -> bool {
    let key = taint.split([':', '=']).next().unwrap_or_default();
    !REPEATED.contains(&key) && (!is_first || OWN_TAINTS.iter().any(|prefix| key.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINCE: &str = "2026-01-01T00:00:00Z";

    fn node(conditions: &[&str], taints: &[&str]) -> NodeView {
        let condition = |kind: &&str| Condition {
            kind: (*kind).to_owned(),
            text: format!("{kind} is odd"),
            since: SINCE.parse().ok(),
        };
        NodeView {
            name: "lab2".into(),
            conditions: conditions.iter().map(condition).collect(),
            taints: taints.iter().map(|&taint| taint.to_owned()).collect(),
            ..NodeView::default()
        }
    }

    fn lines(before: Before<'_>, after: &NodeView) -> Vec<String> {
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let entries = node_changes(before, after, now);
        assert!(entries.iter().all(|entry| entry.node.as_deref() == Some("lab2")));
        entries
            .iter()
            .map(|entry| format!("{} {:?} {:?} {}", entry.time, entry.kind, entry.change, entry.name))
            .collect()
    }

    #[test]
    fn states_start_and_end() {
        let (well, ill) =
            (node(&[], &["dedicated=db:NoSchedule"]), node(&["Ready", "KernelDeadlock"], &["a:NoSchedule"]));
        let started = lines(Before::Seen(&well), &ill);
        let want = [
            "2026-01-01T00:00:00Z NodeCondition Some(Start) Ready",
            "2026-01-01T00:00:00Z NodeCondition Some(Start) KernelDeadlock",
            "2026-01-01T00:01:00Z NodeTaint Some(Start) a:NoSchedule",
            "2026-01-01T00:01:00Z NodeTaint Some(End) dedicated=db:NoSchedule",
        ];
        assert_eq!(started, want);
        assert_eq!(lines(Before::Seen(&ill), &well).len(), 4);
        assert!(lines(Before::Seen(&ill), &ill).is_empty());
    }

    #[test]
    fn the_first_list_has_no_permanent_states() {
        let taints =
            ["node-role.kubernetes.io/control-plane:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule"];
        let first = lines(Before::Unknown, &node(&["DiskPressure", "VendorThing"], &taints));
        assert_eq!(first.len(), 2, "{first:?}");
        assert!(first[0].ends_with("DiskPressure") && first[1].contains("unschedulable"), "{first:?}");
        let joined = lines(Before::Absent, &node(&["Ready"], &[]));
        assert_eq!((joined.len(), joined[0].contains("NodeAdded")), (2, true), "{joined:?}");
    }

    #[test]
    fn taints_that_repeat_a_condition_are_left_out() {
        let tainted =
            node(&["Ready"], &["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/not-ready:NoSchedule"]);
        assert_eq!(lines(Before::Seen(&node(&[], &[])), &tainted).len(), 1);
    }

    #[test]
    fn a_time_in_the_future_is_not_believed() {
        let mut later = node(&["Ready"], &[]);
        later.conditions[0].since = "2036-01-01T00:00:00Z".parse().ok();
        assert!(lines(Before::Seen(&node(&[], &[])), &later)[0].starts_with("2026-01-01T00:01:00Z"));
    }
}
