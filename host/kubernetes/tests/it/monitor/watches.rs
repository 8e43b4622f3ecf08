//! The monitor notices changes although its watches are interrupted, and does not rely on their old
//! state.

use plumbline_aggregator::ExitKind;
use plumbline_dev::{Fault, FaultKind};
use serde_json::json;

use super::bed::{Bed, double, graces, pod, pulling, running, watched};

fn fault(path: &str, times: u32) -> Fault {
    let kind = FaultKind::Status { code: 500, message: "etcd has no leader".into(), retry_after: None };
    Fault { method: Some("GET"), path_contains: path.into(), kind, times }
}

async fn bed() -> Bed {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", running()));
    let bed = Bed::new(double, graces(300)).await;
    bed.watch(watched(&["w1"])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed
}

#[tokio::test]
async fn an_expired_watch_is_restarted_with_a_list() {
    let mut bed = bed().await;
    bed.double.expire_watches();
    // No watch sees the deletion. Only the next list reveals it.
    bed.double.remove("pods", "ns", "scan-x");
    let (key, error) = bed.failed().await;
    assert_eq!(key, "scan/w1");
    assert!(error.error.contains("`scan-x`"), "{}", error.error);
    assert_eq!(error.details["pod"]["metadata"]["name"], "scan-x");
}

#[tokio::test]
async fn a_watch_that_breaks_off_is_taken_up_again() {
    let mut bed = bed().await;
    bed.double.drop_watches();
    bed.double.put("pods", pod("scan-x", "w1", pulling()));
    assert_eq!(bed.failed().await.1.details["reason"], "ImagePull");
}

#[tokio::test]
async fn an_account_that_may_not_list_nodes_sees_pods_all_the_same() {
    let double = double(&["w1", "w2"]).await;
    double.deny("list", "nodes");
    double.put("pods", pod("scan-1", "w1", running()));
    double.put("pods", pod("scan-2", "w2", pulling()));
    let mut bed = Bed::new(double, graces(300)).await;
    bed.asked(&["/nodes"]).await;
    bed.double.remove("nodes", "", "w1");
    bed.watch(watched(&["w1", "w2"])).await;
    assert_eq!(bed.failed().await.0, "scan/w2");
    assert!(bed.is_silent());
}

#[tokio::test]
async fn nothing_is_given_up_while_the_api_server_does_not_answer() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-x", "w1", pulling()));
    double.fault(fault("/pods/scan-x", 2));
    let mut bed = Bed::new(double, graces(300)).await;
    bed.watch(watched(&["w1"])).await;
    assert_eq!(bed.failed().await.0, "scan/w1");
    let looks = bed.double.requests().iter().filter(|request| request.path.ends_with("/pods/scan-x")).count();
    assert!(looks >= 3, "{looks}");
}

#[tokio::test]
async fn state_from_a_broken_watch_is_checked_again_before_it_is_reported() {
    let double = double(&["w1", "w2"]).await;
    double.put("pods", pod("scan-1", "w1", pulling()));
    double.put("pods", pod("scan-2", "w2", running()));
    // The monitor sees the list, but no later events.
    double.fault(fault("watch=true", u32::MAX));
    let mut bed = Bed::new(double, graces(3000)).await;
    bed.watch(watched(&["w1", "w2"])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed.double.put("pods", pod("scan-1", "w1", running()));
    bed.asked(&["/pods/scan-1"]).await;
    bed.double.clear_faults();
    bed.double.put("pods", pod("scan-2", "w2", json!({"waiting": {"reason": "CreateContainerError"}})));
    assert_eq!(bed.failed().await.0, "scan/w2");
    assert!(bed.is_silent());
}

#[tokio::test]
async fn a_monitor_that_is_stopped_is_silent() {
    let mut bed = bed().await;
    bed.monitor.stop().await;
    bed.double.put("pods", pod("scan-x", "w1", pulling()));
    bed.watch(watched(&["w1"])).await;
    let exits = bed.settle(&["w1"]).await;
    assert_eq!(exits.iter().map(|exit| exit.kind).collect::<Vec<_>>(), [ExitKind::Unknown], "it learns nothing more");
    assert!(bed.is_silent());
    bed.monitor.stop().await;
}
