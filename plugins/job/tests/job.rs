//! Tests that there is always exactly one result.

use plumbline_module_job::Job;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Expected, Node};
use serde_json::json;

#[test]
fn a_job_has_one_global_result_in_every_cluster() {
    let node = |name: &str| Node::new(name).taint("x", "", "NoSchedule");
    for case in [
        Case::new(),
        Case::new().driver("Process"),
        Case::new().node(node("a")).node(node("b")),
        // A Job has a result even if the nodes of the cluster cannot be listed.
        Case::new().pod_spec(json!({"nodeSelector": {"none": "such"}})).node(node("a")),
        Case::new().pod_spec(json!("not a pod spec")),
    ] {
        assert_eq!(case.expected::<Job>().unwrap(), [Expected::Global]);
    }
}
