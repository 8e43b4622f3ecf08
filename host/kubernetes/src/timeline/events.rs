//! Warnings of Kubernetes (core events of type `Warning`), as entries.

use jiff::Timestamp;
use plumbline_core::timeline::{TimelineEntry, TimelineKind};
use serde_json::Value;

use crate::events::COMPONENT;
use crate::names::is_safe_name;
use crate::pod_view::{line, text_at};

/// An event, which the API server updates when it happens again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warning {
    /// The entry with the last time. Its count is that of the event.
    pub(super) entry: TimelineEntry,
    /// When it happened first.
    pub(super) first: Timestamp,
    /// The UID of the event.
    pub(super) uid: String,
}

/// Reads an event. Returns `None` if it comes from Plumbline, or if a name in it is not valid.
pub(super) fn read(event: &Value, now: Timestamp) -> Option<Warning> {
    let component = match text_at(event, "/source/component") {
        "" => text_at(event, "/reportingComponent"),
        component => component,
    };
    if component == COMPONENT {
        return None;
    }
    let time = |pointer: &str| text_at(event, pointer).parse::<Timestamp>().ok();
    let first = ["/firstTimestamp", "/eventTime", "/metadata/creationTimestamp"].into_iter().find_map(time);
    let first = first.unwrap_or(now).min(now);
    let last = time("/series/lastObservedTime").or_else(|| time("/lastTimestamp")).unwrap_or(first).min(now);
    let count = ["/series/count", "/count"].into_iter().find_map(|at| event.pointer(at).and_then(Value::as_u64));
    let reason = line(text_at(event, "/reason"))?;
    let message = line(text_at(event, "/message")).unwrap_or_default();
    let (kind, name, namespace) = (
        text_at(event, "/involvedObject/kind"),
        text_at(event, "/involvedObject/name"),
        text_at(event, "/involvedObject/namespace"),
    );
    if !is_safe_name(name) || !(namespace.is_empty() || is_safe_name(namespace)) {
        return None;
    }
    let host = match text_at(event, "/source/host") {
        "" if component == "kubelet" => text_at(event, "/reportingInstance"),
        host => host,
    };
    let node = if kind == "Node" { name } else { host };
    // Objects other than pods and nodes are named in the text.
    let text = match kind {
        "Pod" | "Node" => format!("{reason}: {message}"),
        _ => format!("{reason}: {kind} {name}: {message}"),
    };
    let mut entry = TimelineEntry::new(last, kind_of(&reason, &message), &reason, &text)
        .on_node(Some(node).filter(|node| is_safe_name(node)))
        .times(count.unwrap_or(1));
    entry.namespace = Some(namespace).filter(|namespace| !namespace.is_empty() && kind != "Node").map(str::to_owned);
    entry.pod = (kind == "Pod").then(|| name.to_owned());
    Some(Warning { entry, first, uid: text_at(event, "/metadata/uid").to_owned() })
}

/// Returns what an event is about, from the reasons of the kubelet, the scheduler and the
/// controllers.
fn kind_of(reason: &str, message: &str) -> TimelineKind {
    let is_image = || ["image", "pull"].iter().any(|word| message.to_ascii_lowercase().contains(word));
    match reason {
        "FailedScheduling" => TimelineKind::Scheduling,
        "OOMKilling" | "SystemOOM" => TimelineKind::OomKill,
        "Evicted" | "Preempted" | "TaintManagerEviction" | "EvictionThresholdMet" => TimelineKind::Eviction,
        "ErrImagePull" | "ErrImageNeverPull" | "ImagePullBackOff" | "InspectFailed" | "InvalidImageName" => {
            TimelineKind::ImagePull
        }
        "Failed" | "BackOff" if is_image() => TimelineKind::ImagePull,
        "BackOff" => TimelineKind::Restart,
        _ => TimelineKind::Warning,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(change: Value) -> Option<Warning> {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Event", "type": "Warning",
            "metadata": {"name": "e", "namespace": "apps", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "involvedObject": {"kind": "Pod", "namespace": "apps", "name": "web-1"},
            "reason": "BackOff", "message": "Back-off restarting failed container",
            "source": {"component": "kubelet", "host": "lab2"},
            "firstTimestamp": "2026-01-01T00:00:01Z", "lastTimestamp": "2026-01-01T00:00:09Z", "count": 4,
        });
        for (key, value) in change.as_object().unwrap() {
            object[key] = value.clone();
        }
        read(&object, "2026-01-01T01:00:00Z".parse().unwrap())
    }

    #[test]
    fn an_event_of_a_pod_names_it_and_its_node() {
        let Warning { entry, first, uid } = event(json!({})).unwrap();
        let line = String::from_utf8(entry.to_line()).unwrap();
        let want = "{\"time\":\"2026-01-01T00:00:09Z\",\"kind\":\"restart\",\"name\":\"BackOff\",\"node\":\"lab2\",\"namespace\":\"apps\",\"pod\":\"web-1\",\"text\":\"BackOff: Back-off restarting failed container\",\"count\":4}\n";
        assert_eq!((line.as_str(), uid.as_str()), (want, "u"));
        assert_eq!(first, "2026-01-01T00:00:01Z".parse().unwrap());
    }

    #[test]
    fn events_of_both_apis_are_read() {
        let newer = event(json!({
            "reason": "FailedScheduling", "message": "0/2 nodes are available", "source": {}, "count": null,
            "firstTimestamp": null, "lastTimestamp": null, "eventTime": "2026-01-01T00:00:02.5Z",
            "series": {"count": 7, "lastObservedTime": "2026-01-01T00:00:30Z"},
            "reportingComponent": "default-scheduler", "reportingInstance": "default-scheduler-lab1",
        }))
        .unwrap();
        assert_eq!((newer.entry.kind, newer.entry.count, newer.entry.node), (TimelineKind::Scheduling, 7, None));
        assert_eq!(newer.entry.time, "2026-01-01T00:00:30Z".parse().unwrap());
        assert_eq!(newer.first, "2026-01-01T00:00:02.5Z".parse().unwrap());
    }

    #[test]
    fn nodes_and_other_objects_are_named() {
        let node = event(json!({
            "involvedObject": {"kind": "Node", "name": "lab2"}, "reason": "SystemOOM", "message": "victim process: x",
        }))
        .unwrap()
        .entry;
        assert_eq!(
            (node.kind, node.node.as_deref(), node.namespace, node.pod),
            (TimelineKind::OomKill, Some("lab2"), None, None)
        );
        let set = event(json!({
            "involvedObject": {"kind": "ReplicaSet", "namespace": "apps", "name": "web"}, "source": {},
            "reason": "FailedCreate", "message": "exceeded quota",
        }))
        .unwrap()
        .entry;
        assert_eq!((set.kind, set.namespace.as_deref(), set.pod), (TimelineKind::Warning, Some("apps"), None));
        assert_eq!(set.text, "FailedCreate: ReplicaSet web: exceeded quota");
    }

    #[test]
    fn reasons_are_sorted_by_what_they_are_about() {
        for (reason, message, want) in [
            ("Failed", "Failed to pull image \"x\"", TimelineKind::ImagePull),
            ("Failed", "Error: cannot start", TimelineKind::Warning),
            ("BackOff", "Back-off pulling image \"x\"", TimelineKind::ImagePull),
            ("Evicted", "low on memory", TimelineKind::Eviction),
            ("FailedMount", "no such volume", TimelineKind::Warning),
        ] {
            assert_eq!(kind_of(reason, message), want, "{reason}");
        }
    }

    #[test]
    fn own_events_and_invalid_names_are_left_out() {
        assert_eq!(event(json!({"source": {"component": "plumbline"}})), None);
        assert_eq!(event(json!({"reason": null})), None);
        for name in ["", "../x", "a b", "a\u{1b}[2J"] {
            assert_eq!(event(json!({"involvedObject": {"kind": "Pod", "namespace": "apps", "name": name}})), None);
            assert_eq!(
                event(json!({"involvedObject": {"kind": "Pod", "namespace": name, "name": "x"}})).is_none(),
                !name.is_empty()
            );
        }
        assert_eq!(event(json!({"source": {"component": "kubelet", "host": "../x"}})).unwrap().entry.node, None);
        let late = event(json!({"lastTimestamp": "2036-01-01T00:00:00Z"})).unwrap();
        assert_eq!(late.entry.time, "2026-01-01T01:00:00Z".parse().unwrap());
    }
}
