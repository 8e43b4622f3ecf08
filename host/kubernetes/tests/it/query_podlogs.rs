//! Logs that a survey collects.

use plumbline_core::Config;
use plumbline_core::config::PodLogLimits;
use serde_json::json;

use crate::query_bed::{Bed, errors, only};

fn pod(bed: &Bed, namespace: &str, name: &str, status: serde_json::Value) {
    let spec = json!({"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]});
    bed.double.put("pods", json!({"metadata": {"namespace": namespace, "name": name}, "spec": spec, "status": status}));
    for container in ["i", "c"] {
        bed.double.set_log(namespace, name, container, format!("log of {container}\n"));
    }
}

fn options() -> Config {
    Config { namespace: "run".to_owned(), ..only(&["podlogs"]) }
}

fn logs(bed: &Bed) -> Vec<String> {
    bed.files().into_iter().filter(|file| file.starts_with("podlogs")).collect()
}

#[tokio::test]
async fn logs_of_every_container_of_the_chosen_pods() {
    let bed = Bed::new().await;
    bed.double.put("namespaces", json!({"metadata": {"name": "run"}}));
    for (namespace, name) in [("kube-system", "a"), ("run", "b"), ("default", "c"), ("default", "d")] {
        pod(&bed, namespace, name, json!({"phase": "Running"}));
    }
    pod(&bed, "kube-system", "evicted", json!({"phase": "Failed", "reason": "Evicted"}));
    let mut options = options();
    options.limits.pod_logs.field_selectors = vec!["metadata.name=d".to_owned(), "metadata.name=a".to_owned()];
    let summary = bed.survey(&options).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    insta::assert_snapshot!(logs(&bed).join("\n"), @r"
    podlogs/default/d/logs/c.txt
    podlogs/default/d/logs/i.txt
    podlogs/kube-system/a/logs/c.txt
    podlogs/kube-system/a/logs/i.txt
    podlogs/run/b/logs/c.txt
    podlogs/run/b/logs/i.txt
    ");
    let asked = bed.double.requests().iter().filter(|request| request.path.ends_with("/pods/a/log")).count();
    assert_eq!(asked, 2, "a pod that is selected twice is asked once");
}

#[tokio::test]
async fn a_log_that_cannot_be_had_holds_up_no_other() {
    let bed = Bed::new().await;
    pod(&bed, "kube-system", "a", json!({"phase": "Running"}));
    pod(&bed, "kube-system", "b", json!({"phase": "Running"}));
    bed.refuse("/pods/a/log?&container=i", 500, 100);
    let errors = errors(&bed.survey(&options()).await);
    assert_eq!(
        errors,
        ["podlogs in namespace `kube-system`: failed to read the log of container `i` of pod `a`: refused with 500"]
    );
    assert_eq!(logs(&bed).len(), 3);
}

#[tokio::test]
async fn a_log_that_was_captured_before_stays_if_it_is_longer() {
    let bed = Bed::new().await;
    pod(&bed, "kube-system", "a", json!({"phase": "Running"}));
    let captured = bed.out().join("podlogs/kube-system/a/logs");
    std::fs::create_dir_all(&captured).unwrap();
    std::fs::write(captured.join("c.txt"), "the first instance\nand why it crashed\n").unwrap();
    std::fs::write(captured.join("i.txt"), "log").unwrap();
    bed.survey(&options()).await;
    assert_eq!(std::fs::read_to_string(captured.join("c.txt")).unwrap(), "the first instance\nand why it crashed\n");
    assert_eq!(std::fs::read_to_string(captured.join("i.txt")).unwrap(), "log of i\n");
}

#[tokio::test]
async fn limits_reach_the_server() {
    let bed = Bed::new().await;
    pod(&bed, "kube-system", "a", json!({"phase": "Running"}));
    bed.double.set_previous_log("kube-system", "a", "c", "one\ntwo\nthree\n");
    bed.double.set_previous_log("kube-system", "a", "i", "one\n");
    let mut options = options();
    options.limits.pod_logs = PodLogLimits {
        previous: true,
        tail_lines: Some(2),
        limit_bytes: Some(5),
        sonobuoy_namespace: false,
        ..options.limits.pod_logs
    };
    let summary = bed.survey(&options).await;
    assert_eq!(errors(&summary), Vec::<String>::new());
    let text = std::fs::read_to_string(bed.out().join("podlogs/kube-system/a/logs/c.txt")).unwrap();
    assert_eq!(text, "two\nt");
}

#[tokio::test]
async fn a_log_that_is_longer_than_what_is_kept_is_recorded() {
    let bed = Bed::new().await;
    pod(&bed, "kube-system", "a", json!({"phase": "Running"}));
    bed.double.set_log("kube-system", "a", "c", "x".repeat((64 << 20) + 1));
    let errors = errors(&bed.survey(&options()).await);
    let why =
        "podlogs in namespace `kube-system`: the log of container `c` of pod `a` is longer than 64 MiB, and cut there";
    assert_eq!(errors, [why]);
    assert_eq!(logs(&bed).len(), 2);
}
