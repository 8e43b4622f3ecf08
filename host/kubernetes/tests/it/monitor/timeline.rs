//! The monitor records what the cluster goes through.

use plumbline_core::timeline::{Change, TimelineEntry, TimelineKind};
use plumbline_dev::{Fault, FaultKind};
use serde_json::{Value, json};

use super::bed::{Bed, double, graces, node, pod, running, watched};

/// Longer than any test takes: nothing counts as missing.
const NEVER: u64 = 600_000;

fn not_ready(name: &str) -> Value {
    json!({"metadata": {"name": name}, "status": {"conditions": [
        {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."},
    ]}})
}

fn warning(name: &str, namespace: &str, count: u64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": namespace}, "type": "Warning", "reason": "BackOff",
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "web-1"},
        "message": "Back-off restarting failed container", "source": {"component": "kubelet", "host": "w2"},
        "firstTimestamp": jiff::Timestamp::now(), "lastTimestamp": jiff::Timestamp::now(), "count": count,
    })
}

fn forbid_all_namespaces(bed: &plumbline_dev::ApiDouble) {
    let kind = FaultKind::Status { code: 403, message: "events is forbidden".into(), retry_after: None };
    bed.fault(Fault { method: Some("GET"), path_contains: "/api/v1/events".into(), kind, times: u32::MAX });
}

fn of_kind(entries: &[TimelineEntry], kind: TimelineKind) -> Vec<&TimelineEntry> {
    entries.iter().filter(|entry| entry.kind == kind).collect()
}

#[tokio::test]
async fn nodes_pods_warnings_and_the_plugin_are_recorded() {
    let double = double(&["w1", "w2"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    let bed = Bed::new(double, graces(NEVER)).await;
    bed.watch(watched(&["w1"])).await;
    for resource in ["/nodes", "/pods", "/api/v1/events"] {
        bed.asked(&[resource, "watch=true"]).await;
    }
    bed.double.put("nodes", not_ready("w2"));
    bed.double.put("events", warning("e1", "apps", 3));
    bed.double.update("pods", "ns", "scan-x", |pod| {
        pod["status"]["containerStatuses"][0]["restartCount"] = 1.into();
        pod["status"]["containerStatuses"][0]["lastState"] =
            json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
    });
    bed.recorded(|entries| {
        [TimelineKind::NodeCondition, TimelineKind::Restart, TimelineKind::OomKill]
            .iter()
            .all(|kind| !of_kind(entries, *kind).is_empty())
    })
    .await;
    bed.double.put("nodes", node("w2"));
    bed.double.remove("nodes", "", "w1");
    bed.recorded(|entries| !of_kind(entries, TimelineKind::NodeRemoved).is_empty()).await;
    bed.settle(&["w1"]).await;
    bed.monitor.stop().await;

    let entries = bed.timeline();
    let states: Vec<_> = of_kind(&entries, TimelineKind::NodeCondition)
        .iter()
        .map(|entry| (entry.node.as_deref(), entry.change, entry.text.as_str()))
        .collect();
    let unknown = "Ready is Unknown: NodeStatusUnknown: Kubelet stopped posting node status.";
    let want =
        [(Some("w2"), Some(Change::Start), unknown), (Some("w2"), Some(Change::End), "Ready is as on a healthy node")];
    assert_eq!(states, want);
    let restart = of_kind(&entries, TimelineKind::Restart)[0];
    assert_eq!((restart.namespace.as_deref(), restart.node.as_deref(), restart.count), (Some("apps"), Some("w2"), 3));
    let killed = of_kind(&entries, TimelineKind::OomKill)[0];
    assert_eq!((killed.plugin.as_deref(), killed.node.as_deref()), (Some("scan"), Some("w1")));
    let plugin: Vec<_> = of_kind(&entries, TimelineKind::Plugin).iter().map(|entry| entry.change).collect();
    assert_eq!(plugin, [Some(Change::Start), Some(Change::End)]);
    assert_eq!(of_kind(&entries, TimelineKind::Recording).len(), 0, "{entries:?}");
}

#[tokio::test]
async fn an_account_that_may_not_watch_all_namespaces_watches_that_of_the_run() {
    let double = double(&["w1"]).await;
    forbid_all_namespaces(&double);
    let bed = Bed::new(double, graces(NEVER)).await;
    bed.asked(&["/namespaces/ns/events", "watch=true"]).await;
    bed.double.put("events", warning("e1", "ns", 1));
    bed.double.put("events", warning("e2", "apps", 1));
    bed.recorded(|entries| !of_kind(entries, TimelineKind::Restart).is_empty()).await;
    bed.monitor.stop().await;
    let entries = bed.timeline();
    assert_eq!(of_kind(&entries, TimelineKind::Restart).len(), 1);
    let note = of_kind(&entries, TimelineKind::Recording)[0];
    let want = "warnings of other namespaces and of nodes are not recorded: events is forbidden";
    assert_eq!((note.name.as_str(), note.text.as_str()), ("forbidden", want));
}

#[tokio::test]
async fn without_the_permission_only_a_note_is_recorded() {
    let double = double(&["w1"]).await;
    double.deny("list", "events");
    let mut bed = Bed::new(double, graces(NEVER)).await;
    bed.recorded(|entries| of_kind(entries, TimelineKind::Recording).len() == 2).await;
    let asked = bed.double.requests().len();
    bed.watch(watched(&["w1"])).await;
    bed.double.put("nodes", not_ready("w1"));
    bed.recorded(|entries| !of_kind(entries, TimelineKind::NodeCondition).is_empty()).await;
    bed.monitor.stop().await;
    let later = &bed.double.requests()[asked..];
    assert!(!later.iter().any(|request| request.path.ends_with("/events")), "{later:?}");
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_restarted_aggregator_continues_the_recording() {
    let double = double(&["w1", "w2", "w3"]).await;
    double.put("nodes", not_ready("w1"));
    double.put("nodes", not_ready("w2"));
    let mut bed = Bed::new(double, graces(NEVER)).await;
    bed.asked(&["/api/v1/events", "watch=true"]).await;
    bed.double.put("events", warning("e1", "apps", 1));
    bed.recorded(|entries| of_kind(entries, TimelineKind::NodeCondition).len() == 2).await;
    bed.recorded(|entries| of_kind(entries, TimelineKind::Restart).len() == 1).await;
    bed.monitor.stop().await;
    let first = bed.timeline();

    bed.double.put("nodes", node("w1"));
    bed.double.put("nodes", not_ready("w3"));
    bed.restart().await;
    bed.recorded(|entries| of_kind(entries, TimelineKind::NodeCondition).len() == 4).await;
    bed.asked_times(&["/api/v1/events", "watch=true"], 2).await;
    bed.monitor.stop().await;
    let all = bed.timeline();
    assert_eq!(all[..first.len()], first);
    let mut states: Vec<_> = of_kind(&all, TimelineKind::NodeCondition)
        .iter()
        .map(|entry| format!("{} {:?}", entry.node.as_deref().unwrap(), entry.change.unwrap()))
        .collect();
    states.sort();
    // The state of `w2` is still the same.
    assert_eq!(states, ["w1 End", "w1 Start", "w2 Start", "w3 Start"]);
    assert_eq!(of_kind(&all, TimelineKind::Recording)[0].name, "resumed");
    // The warning was listed again.
    assert_eq!(of_kind(&all, TimelineKind::Restart).len(), 1, "{all:?}");
}

#[tokio::test]
async fn errors_of_the_api_server_are_counted() {
    let double = double(&["w1"]).await;
    let kind = FaultKind::Status { code: 503, message: "etcd has no leader".into(), retry_after: None };
    double.fault(Fault { method: Some("GET"), path_contains: "/nodes".into(), kind, times: 2 });
    let bed = Bed::new(double, graces(NEVER)).await;
    bed.asked(&["/nodes", "watch=true"]).await;
    bed.monitor.stop().await;
    let entries = bed.timeline();
    let requests = of_kind(&entries, TimelineKind::Api)[0].api.clone().unwrap();
    assert_eq!(requests.errors, [("503".to_owned(), 2)].into());
    assert!(requests.requests > 2, "{requests:?}");
}

#[tokio::test]
async fn the_recording_needs_one_list_and_one_watch() {
    let names: Vec<String> = (0..300).map(|n| format!("w{n}")).collect();
    let double = double(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // It happened before the run.
    double.put("events", warning("e", "old", 1));
    let bed = Bed::new(double, graces(NEVER)).await;
    bed.asked(&["/api/v1/events", "watch=true"]).await;
    for n in 0..20 {
        bed.double.put("events", warning(&format!("e{n}"), "apps", 1));
    }
    for name in &names {
        bed.double.put("nodes", not_ready(name));
    }
    bed.recorded(|entries| of_kind(entries, TimelineKind::NodeCondition).len() == names.len()).await;
    bed.recorded(|entries| !of_kind(entries, TimelineKind::Restart).is_empty()).await;
    bed.monitor.stop().await;
    let requests = bed.double.requests();
    let events: Vec<_> = requests.iter().filter(|request| request.path.contains("/events")).collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.iter().all(|request| request.query.contains("type%3DWarning")), "{events:?}");
    let restarts = of_kind(&bed.timeline(), TimelineKind::Restart).iter().map(|entry| entry.count).sum::<u64>();
    assert_eq!(restarts, 20);
    assert!(bed.timeline().iter().all(|entry| entry.namespace.as_deref() != Some("old")));
}
