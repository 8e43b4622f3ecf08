//! The changes of a pod of the run, as entries.

use jiff::Timestamp;
use plumbline_core::timeline::{TimelineEntry, TimelineKind};

use crate::pod_view::{ContainerView, Ended, PodView};

/// The reason of evicted pods.
const EVICTED: &str = "Evicted";

/// Returns what happened to a pod: restarts and out-of-memory kills of its containers, and its
/// eviction. Of a pod that was not seen before, only what it was at once.
pub(super) fn pod_changes(before: Option<&PodView>, after: &PodView, now: Timestamp) -> Vec<TimelineEntry> {
    let before = before.filter(|before| before.identity() == after.identity());
    let mut entries = Vec::new();
    for container in &after.containers {
        let old = before.and_then(|before| before.container(&container.name));
        entries.extend(container_changes(old, container, now));
    }
    let is_evicted = |pod: &PodView| pod.has_ended() && pod.reason.as_deref() == Some(EVICTED);
    if is_evicted(after) && !before.is_some_and(is_evicted) {
        let message = after.message.as_deref().unwrap_or("the pod was evicted");
        entries.push(TimelineEntry::new(now, TimelineKind::Eviction, EVICTED, message));
    }
    if let Some(disruption) = &after.disruption
        && before.is_none_or(|before| before.disruption.is_none())
    {
        entries.push(TimelineEntry::new(now, TimelineKind::Eviction, "DisruptionTarget", disruption));
    }
    let complete = |entry: TimelineEntry| {
        entry.of_pod(&after.namespace, &after.name).on_node(after.place()).of_plugin(after.plugin.as_deref())
    };
    entries.into_iter().map(complete).collect()
}

fn container_changes(
    before: Option<&ContainerView>,
    after: &ContainerView,
    now: Timestamp,
) -> impl Iterator<Item = TimelineEntry> {
    let restarts = before.map_or(0, |before| after.restarts.saturating_sub(before.restarts));
    let is_killed = |container: &ContainerView| container.ended().is_some_and(Ended::was_out_of_memory);
    // A kill is recorded when the container ends, and not again when it restarts.
    let was_killed = before.is_some_and(is_killed);
    let restart = (restarts > 0).then(|| match &after.last {
        Some(last) if last.was_out_of_memory() && (restarts > 1 || !was_killed) => {
            out_of_memory(after, now).times(restarts - u64::from(was_killed))
        }
        last => {
            let why = last.as_ref().map(|last| format!(" after exit code {}{}", last.code, reason(last)));
            let text = format!("container `{}` restarted{}", after.name, why.unwrap_or_default());
            TimelineEntry::new(now, TimelineKind::Restart, "Restarted", &text).times(restarts)
        }
    });
    let killed = (is_killed(after) && (!was_killed || restarts > 0)).then(|| out_of_memory(after, now));
    restart.into_iter().chain(killed)
}

fn out_of_memory(container: &ContainerView, now: Timestamp) -> TimelineEntry {
    let limit = container.memory_limit.as_deref().map(|limit| format!(" (limit {limit})")).unwrap_or_default();
    let text = format!("container `{}` was killed for memory{limit}", container.name);
    TimelineEntry::new(now, TimelineKind::OomKill, "OOMKilled", &text)
}

fn reason(ended: &Ended) -> String {
    ended.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, phase: &str, restarts: u64, state: Value, last: Value) -> PodView {
        PodView::read(&json!({
            "metadata": {"name": "p", "namespace": "ns", "uid": uid, "labels": {"sonobuoy-plugin": "scan"}},
            "spec": {"nodeName": "lab2", "containers": [{"name": "c", "resources": {"limits": {"memory": "1Gi"}}}]},
            "status": {"phase": phase, "containerStatuses": [
                {"name": "c", "restartCount": restarts, "state": state, "lastState": last},
            ]},
        }))
        .unwrap()
    }

    fn ended(code: i64, reason: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": reason}})
    }

    fn lines(before: Option<&PodView>, after: &PodView) -> Vec<String> {
        let entries = pod_changes(before, after, Timestamp::UNIX_EPOCH);
        for entry in &entries {
            let subject =
                (entry.namespace.as_deref(), entry.pod.as_deref(), entry.node.as_deref(), entry.plugin.as_deref());
            assert_eq!(subject, (Some("ns"), Some("p"), Some("lab2"), Some("scan")));
        }
        entries.iter().map(|entry| format!("{:?} {} ×{}", entry.kind, entry.text, entry.count)).collect()
    }

    #[test]
    fn restarts_are_counted_with_their_reason() {
        let run = |restarts, last| pod("u", "Running", restarts, json!({"running": {}}), last);
        let before = run(1, json!({}));
        let crashed = run(3, ended(2, "Error"));
        assert_eq!(lines(Some(&before), &crashed), ["Restart container `c` restarted after exit code 2 (Error) ×2"]);
        assert!(lines(Some(&crashed), &crashed).is_empty());
        // The restarts of a pod that is seen for the first time may be old.
        assert!(lines(None, &crashed).is_empty());
        let other = pod("v", "Running", 5, json!({"running": {}}), json!({}));
        assert!(lines(Some(&before), &other).is_empty());
    }

    #[test]
    fn a_kill_for_memory_is_recorded_once_for_each_end() {
        let run = |restarts, state, last| pod("u", "Running", restarts, state, last);
        let running = run(0, json!({"running": {}}), json!({}));
        let killed = run(0, ended(137, "OOMKilled"), json!({}));
        let again = run(1, json!({"running": {}}), ended(137, "OOMKilled"));
        let want = ["OomKill container `c` was killed for memory (limit 1Gi) ×1"];
        assert_eq!(lines(Some(&running), &killed), want);
        assert!(lines(Some(&killed), &killed).is_empty());
        assert_eq!(lines(Some(&running), &again), want);
        let restarted = ["Restart container `c` restarted after exit code 137 (OOMKilled) ×1"];
        assert_eq!(lines(Some(&killed), &again), restarted);
    }

    #[test]
    fn an_eviction_is_recorded_once() {
        let running = pod("u", "Running", 0, json!({"running": {}}), json!({}));
        let evicted = PodView {
            reason: Some("Evicted".into()),
            message: Some("The node was low on memory.".into()),
            ..pod("u", "Failed", 0, json!({}), json!({}))
        };
        assert_eq!(lines(Some(&running), &evicted), ["Eviction The node was low on memory. ×1"]);
        assert!(lines(Some(&evicted), &evicted).is_empty());
        let disrupted = PodView { disruption: Some("EvictionByEvictionAPI: drained".into()), ..running.clone() };
        assert_eq!(lines(Some(&running), &disrupted), ["Eviction EvictionByEvictionAPI: drained ×1"]);
        assert!(lines(Some(&disrupted), &disrupted).is_empty());
    }
}
