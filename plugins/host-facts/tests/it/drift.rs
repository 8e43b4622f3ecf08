//! Tests of differences between nodes.

use plumbline_module_host_facts::HostFacts;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Item, Status};
use serde_json::{Value, json};

use crate::support::{detail, document, nodes, process, with};

/// Returns three nodes, of which `c` has these changes.
fn three(changes: &[(&str, Value)]) -> Case {
    nodes(&[("a", document()), ("b", document()), ("c", with(changes))])
}

#[test]
fn every_difference_is_named_with_who_differs() {
    let run = three(&[
        ("/ansible_facts/ansible_kernel", json!("6.1.0-17-amd64")),
        ("/ansible_facts/ansible_hostname", json!("c")),
        ("/ansible_facts/ansible_memtotal_mb", json!(1)),
        ("/plumbline_facts/kubelet/config/maxPods", json!(250)),
        ("/plumbline_facts/kubelet/version", json!("v1.32.0")),
        ("/plumbline_facts/container_runtime/version", json!("1.7.0")),
        ("/plumbline_facts/cgroup/version", json!(1)),
        ("/plumbline_facts/cgroup/controllers", json!(["memory", "cpu"])),
        ("/plumbline_facts/sysctls/net.ipv4.ip_forward", json!("0")),
        ("/plumbline_facts/sysctls/vm.min_free_kbytes", json!("1")),
        ("/plumbline_facts/swap/total_mb", json!(2048)),
        ("/plumbline_facts/time", json!({"synchronised": false, "offset_seconds": 12.34, "epoch": 1})),
    ])
    .summarize::<HostFacts>();
    insta::assert_snapshot!(format!("{}\n{}", run.outline(), serde_json::to_string_pretty(&run.to_json()).unwrap()));
}

#[test]
fn drift_fails_only_where_it_is_asked_to() {
    let case = three(&[("/ansible_facts/ansible_kernel", json!("6.1.0-17-amd64"))]);
    let name = "kernel: 1 of 3 nodes differs from 6.1.0-18-amd64";
    let run = case.summarize::<HostFacts>();
    assert_eq!(run.item(name).unwrap().status, Some(Status::Custom("warning".into())));
    assert_eq!(detail(&run, name, "warning"), "c: 6.1.0-17-amd64");
    let run = case.clone().option("drift", "fail").summarize::<HostFacts>();
    assert_eq!(run.item(name).unwrap().status, Some(Status::Failed));
    assert_eq!(detail(&run, name, "failure"), "c: 6.1.0-17-amd64");
    let run = case.option("ignore", json!(["kern*"])).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: passed\ntotals: passed\n");
}

#[test]
fn nodes_that_are_alike_do_not_drift_and_numbers_are_what_they_say() {
    let run = three(&[("/plumbline_facts/cgroup/version", json!("2"))]).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: passed\ntotals: passed\n");
    assert_eq!(detail(&run, "drift", "compared"), "12 facts");
    assert_eq!(detail(&run, "totals", "nodes"), 3);
    assert_eq!(detail(&run, "totals", "distribution"), json!({"Debian 12": 3}));
}

#[test]
fn facts_that_are_specific_to_a_node_are_not_compared() {
    let own = |id: &str| with(&[("/plumbline_facts/kubelet/config/providerID", json!(id))]);
    let run = nodes(&[("a", own("x")), ("b", own("y")), ("c", own("z"))]).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: passed\ntotals: passed\n");
}

#[test]
fn a_fact_that_a_node_does_not_report_is_not_compared_there() {
    let silent = json!({"ansible_facts": {"ansible_kernel": "6.1.0-18-amd64"}});
    let other = with(&[("/plumbline_facts/swap/total_mb", json!(1))]);
    let run = nodes(&[("a", document()), ("b", other), ("c", silent)]).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: -\n  swap: 1 of 2 nodes differs from off: warning\ntotals: passed\n");
    let name = "swap: 1 of 2 nodes differs from off";
    assert_eq!(detail(&run, name, "not reported"), "1 node does not report this fact");
}

#[test]
fn one_machine_has_no_drift() {
    let one = Case::new().results("global", process(&document()).items).summarize::<HostFacts>();
    assert_eq!((one.outcome.clone(), one.items.len()), (Ok(()), 0));
    let one = nodes(&[("a", document())]).summarize::<HostFacts>();
    assert_eq!(one.outline(), "drift: skipped\ntotals: passed\n");
}

#[test]
fn nodes_without_facts_are_counted_once() {
    let failed = || [Item::new(0, "the pod is gone").status(Status::Failed)];
    let unreadable = || [Item::new(0, "host-facts.json").status(Status::Unknown).meta("type", "file")];
    let run = nodes(&[("a", document()), ("b", document())])
        .results("c", unreadable())
        .results("a", failed())
        .results("c", failed())
        .results("d", failed())
        .summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: passed\ntotals: passed\n");
    assert_eq!((detail(&run, "totals", "nodes"), detail(&run, "totals", "without facts")), (json!(2), json!(2)));
    let none = Case::new().results("c", unreadable()).results("d", failed()).summarize::<HostFacts>();
    assert!(none.items.is_empty());
}

#[test]
fn nodes_of_which_nothing_could_be_read_do_not_pass() {
    let unread = json!({"ansible_facts": {}, "errors": [{"fact": "ansible_kernel", "reason": "permission denied"}]});
    let run = nodes(&[("a", unread.clone()), ("b", unread.clone())]).summarize::<HostFacts>();
    assert_eq!((run.outcome.clone(), run.items.len()), (Ok(()), 0), "{}", run.outline());
    let run = nodes(&[("a", document()), ("b", document()), ("c", unread)]).summarize::<HostFacts>();
    assert_eq!((detail(&run, "totals", "nodes"), detail(&run, "totals", "without facts")), (json!(2), json!(1)));
}

#[test]
fn facts_of_one_node_each_are_compared_with_nothing() {
    let (kernel, swap) =
        (json!({"ansible_facts": {"ansible_kernel": "6.1"}}), json!({"plumbline_facts": {"swap": {"total_mb": 0}}}));
    let run = nodes(&[("a", kernel), ("b", swap)]).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: skipped\ntotals: passed\n");
    assert_eq!(detail(&run, "drift", "skipped"), "no two nodes report the same fact");
    let run = nodes(&[("a", document()), ("b", document())]).option("ignore", json!(["*"])).summarize::<HostFacts>();
    assert_eq!(run.outline(), "drift: skipped\ntotals: passed\n");
}

#[test]
fn results_that_cannot_be_read_end_it_with_the_reason() {
    let run = nodes(&[("a", document())]).broken_results("the disk is gone").summarize::<HostFacts>();
    assert_eq!((run.outcome.clone(), run.items.len()), (Err("the disk is gone".to_owned()), 0));
}
