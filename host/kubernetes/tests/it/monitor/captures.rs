//! Logs of pods whose results have arrived.

use std::time::Instant;

use plumbline_aggregator::{Exit, ExitKind};
use plumbline_dev::{Fault, FaultKind};
use serde_json::json;

use super::bed::{Bed, double, ended, graces, pod, running, watched};

#[tokio::test]
async fn logs_of_all_containers_and_bad_exits_are_kept_when_a_plugin_is_settled() {
    let double = double(&["w1"]).await;
    let mut job = pod("scan-job", "w1", ended(3, "Error"));
    job["spec"]["initContainers"] = json!([{"name": "prepare"}]);
    job["status"]["initContainerStatuses"] = json!([{"name": "prepare", "state": ended(0, "Completed")}]);
    double.put("pods", job);
    for container in ["prepare", "main", "sonobuoy-worker"] {
        double.set_log("ns", "scan-job", container, format!("said by {container}\n"));
    }
    let bed = Bed::new(double, graces(60_000)).await;
    bed.watch(watched(&[])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    let exits = bed.settle(&[]).await;
    let text = "container `main` of pod `scan-job` ended with exit code 3".to_owned();
    assert_eq!(exits, [Exit { key: "scan/global".parse().unwrap(), text, kind: ExitKind::Failure }]);
    for container in ["prepare", "main", "sonobuoy-worker"] {
        let log = std::fs::read_to_string(bed.log("scan-job", &format!("{container}.txt"))).unwrap();
        assert_eq!(log, format!("said by {container}\n"));
    }
}

#[tokio::test]
async fn the_exit_code_of_a_job_that_ends_just_after_its_result_is_waited_for() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-job", "w1", running()));
    let bed = Bed::new(double, graces(60_000)).await;
    bed.watch(watched(&[])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    let settled = bed.settle(&[]);
    let ends = async {
        bed.double.put("pods", pod("scan-job", "w1", ended(1, "Error")));
    };
    let (exits, ()) = tokio::join!(settled, ends);
    assert_eq!(exits.len(), 1);
}

#[tokio::test]
async fn an_exit_code_that_no_watch_has_shown_is_asked_for() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-job", "w1", running()));
    // The monitor sees the list, but no later events.
    let kind = FaultKind::Status { code: 500, message: "etcd has no leader".into(), retry_after: None };
    double.fault(Fault { method: Some("GET"), path_contains: "watch=true".into(), kind, times: u32::MAX });
    let bed = Bed::new(double, graces(60_000)).await;
    bed.watch(watched(&[])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed.double.put("pods", pod("scan-job", "w1", ended(1, "Error")));
    let exits = bed.settle(&[]).await;
    let text = "container `main` of pod `scan-job` ended with exit code 1".to_owned();
    assert_eq!(exits, [Exit { key: "scan/global".parse().unwrap(), text, kind: ExitKind::Failure }]);
}

#[tokio::test]
async fn the_end_of_a_job_that_was_seen_counts_although_its_pod_is_gone() {
    for (code, kind) in [(0, ExitKind::Success), (1, ExitKind::Failure)] {
        let double = double(&["w1"]).await;
        double.put("pods", pod("scan-job", "w1", ended(code, "")));
        // The monitor sees the list, but no later events.
        let fault = FaultKind::Status { code: 500, message: "etcd has no leader".into(), retry_after: None };
        double.fault(Fault { method: Some("GET"), path_contains: "watch=true".into(), kind: fault, times: u32::MAX });
        let bed = Bed::new(double, graces(60_000)).await;
        bed.watch(watched(&[])).await;
        bed.asked(&["/pods", "watch=true"]).await;
        bed.double.remove("pods", "ns", "scan-job");
        let exits = bed.settle(&[]).await;
        assert_eq!(exits.iter().map(|exit| exit.kind).collect::<Vec<_>>(), [kind], "{exits:?}");
        let asked = bed.double.requests().into_iter().any(|request| request.path.contains("/pods/scan-job/log"));
        assert!(!asked, "a deleted pod has no logs");
    }
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_left_out_and_the_others_are_kept() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-1", "w1", running()));
    double.set_log("ns", "scan-1", "main", "one\n");
    double.set_log("ns", "scan-1", "sonobuoy-worker", "two\n");
    let kind = FaultKind::Status { code: 500, message: "kubelet is away".into(), retry_after: None };
    double.fault(Fault { method: None, path_contains: "container=main".into(), kind, times: u32::MAX });
    let bed = Bed::new(double, graces(60_000)).await;
    bed.watch(watched(&["w1"])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    let began = Instant::now();
    assert!(bed.settle(&["w1"]).await.is_empty());
    assert!(began.elapsed().as_secs() < 60);
    assert!(!bed.log("scan-1", "main.txt").exists());
    assert_eq!(std::fs::read_to_string(bed.log("scan-1", "sonobuoy-worker.txt")).unwrap(), "two\n");
    // No incomplete file is left.
    let dir = bed.log("scan-1", "main.txt");
    assert_eq!(std::fs::read_dir(dir.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn logs_of_an_unreachable_node_do_not_delay_others() {
    let double = double(&["w1", "w2"]).await;
    for (name, node) in [("scan-1", "w1"), ("scan-2", "w2")] {
        double.put("pods", pod(name, node, running()));
        double.set_log("ns", name, "main", "said\n");
    }
    double.update("nodes", "", "w2", |node| node["status"]["conditions"][0]["status"] = json!("Unknown"));
    let stall = FaultKind::Stall(std::time::Duration::from_secs(3600));
    double.fault(Fault { method: None, path_contains: "/pods/scan-2/log".into(), kind: stall, times: u32::MAX });
    let bed = Bed::new(double, graces(60_000)).await;
    bed.watch(watched(&["w1", "w2"])).await;
    bed.asked(&["/pods", "watch=true"]).await;
    bed.asked(&["/nodes", "watch=true"]).await;
    assert!(bed.settle(&["w1", "w2"]).await.is_empty());
    assert_eq!(std::fs::read_to_string(bed.log("scan-1", "main.txt")).unwrap(), "said\n");
    let asked = bed.double.requests().into_iter().any(|request| request.path.contains("/pods/scan-2/log"));
    assert!(!asked);
}

/// After a restart, the aggregator only settles plugins whose results had arrived.
#[tokio::test]
async fn ends_and_logs_of_a_plugin_that_an_earlier_monitor_watched_are_read() {
    let double = double(&["w1"]).await;
    double.put("pods", pod("scan-job", "w1", ended(137, "OOMKilled")));
    double.set_log("ns", "scan-job", "main", "said\n");
    let bed = Bed::new(double, graces(60_000)).await;
    let exits = bed.settle(&[]).await;
    assert_eq!(exits.iter().map(|exit| exit.kind).collect::<Vec<_>>(), [ExitKind::Crash]);
    assert_eq!(std::fs::read_to_string(bed.log("scan-job", "main.txt")).unwrap(), "said\n");
}

#[tokio::test]
async fn pods_that_delivered_before_a_restart_count_too() {
    let double = double(&["w1", "w2"]).await;
    double.put("pods", pod("scan-1", "w1", ended(3, "Error")));
    double.put("pods", pod("scan-2", "w2", running()));
    let bed = Bed::new(double, graces(60_000)).await;
    // The result of `w1` arrived before the restart.
    bed.watch(watched(&["w2"])).await;
    let exits = bed.settle(&["w1", "w2"]).await;
    assert_eq!(exits.iter().map(|exit| exit.key.to_string()).collect::<Vec<_>>(), ["scan/w1"]);
}

#[tokio::test]
async fn the_end_of_a_pod_that_is_gone_or_cannot_be_read_is_unknown() {
    for gone in [true, false] {
        let double = double(&["w1"]).await;
        double.put("pods", pod("scan-job", "w1", running()));
        let bed = Bed::new(double, graces(60_000)).await;
        bed.watch(watched(&[])).await;
        bed.asked(&["/pods", "watch=true"]).await;
        if gone {
            bed.double.remove("pods", "ns", "scan-job");
        } else {
            bed.double.deny("list", "pods");
        }
        let exits = bed.settle(&[]).await;
        let [exit] = exits.as_slice() else { panic!("{exits:?}") };
        assert_eq!((exit.key.to_string().as_str(), exit.kind), ("scan/global", ExitKind::Unknown), "{}", exit.text);
    }
}
