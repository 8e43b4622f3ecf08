//! Tests of the expected nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use plumbline_module_zone_spread::{ZONE_LABEL, ZoneSpread};
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Expected, Node};
use serde_json::json;

fn node(name: &str, zone: &str) -> Node {
    Node::new(name).label(ZONE_LABEL, zone)
}

fn not_ready(node: Node) -> Node {
    Node { ready: false, ..node }
}

/// Returns the names of the expected nodes.
fn names(case: &Case) -> Result<Vec<String>, String> {
    let expected = case.expected::<ZoneSpread>()?;
    Ok(expected
        .into_iter()
        .map(|expected| match expected {
            Expected::Node(name) => name,
            Expected::Global => "global".to_owned(),
        })
        .collect())
}

fn cluster() -> Case {
    Case::new()
        .driver("DaemonSet")
        .node(node("w3", "b"))
        .node(node("w2", "a"))
        .node(node("w1", "a"))
        .node(Node::new("control"))
}

#[test]
fn the_first_node_of_each_zone_answers_in_any_order_of_the_list() {
    assert_eq!(names(&cluster()).unwrap(), ["w1", "w3"]);
    let turned = Case::new().node(node("w1", "a")).node(node("w3", "b")).node(node("w2", "a"));
    assert_eq!(names(&turned).unwrap(), ["w1", "w3"]);
}

#[test]
fn a_node_that_cannot_answer_is_passed_over() {
    let case = cluster().node(not_ready(node("w0", "a"))).node(Node { unschedulable: true, ..node("w00", "b") });
    assert_eq!(names(&case).unwrap(), ["w1", "w3"]);
    let tainted = node("a1", "a").taint("gpu", "yes", "NoSchedule");
    let soft = node("b1", "b").taint("gpu", "yes", "PreferNoSchedule");
    let with = |pod| cluster().node(tainted.clone()).node(soft.clone()).pod_spec(pod);
    assert_eq!(names(&with(json!({}))).unwrap(), ["w1", "b1"]);
    let tolerated = json!({ "tolerations": [{ "key": "gpu", "value": "yes", "effect": "NoSchedule" }] });
    assert_eq!(names(&with(tolerated)).unwrap(), ["a1", "b1"]);
    assert_eq!(names(&with(json!({ "tolerations": [{ "key": "gpu", "value": "no" }] }))).unwrap(), ["w1", "b1"]);
    assert_eq!(names(&with(json!({ "tolerations": [{ "operator": "Exists" }] }))).unwrap(), ["a1", "b1"]);
    // Without a podSpec, the default pod tolerates everything.
    assert_eq!(names(&cluster().node(tainted)).unwrap(), ["a1", "w3"]);
}

#[test]
fn only_selected_nodes_can_answer() {
    let marked = |name, zone| node(name, zone).label("probe", "yes");
    let pod = json!({ "nodeSelector": { "probe": "yes" } });
    let case = cluster().node(marked("x1", "a")).pod_spec(pod.clone());
    assert_eq!(
        names(&case).unwrap_err(),
        "zone `b` has no node that can answer: node `w3` has not the label `probe=yes` of the nodeSelector"
    );
    assert_eq!(names(&case.node(marked("x2", "b"))).unwrap(), ["x1", "x2"]);
}

#[test]
fn a_zone_without_a_node_that_can_answer_is_an_error_or_left_out() {
    let case = cluster().node(not_ready(node("w4", "c")));
    assert_eq!(names(&case).unwrap_err(), "zone `c` has no node that can answer: node `w4` is not ready");
    assert_eq!(names(&case.clone().option("unready", "skip")).unwrap(), ["w1", "w3"]);
    let none = Case::new().node(not_ready(node("w4", "c"))).option("unready", "skip");
    assert_eq!(names(&none).unwrap_err(), "no zone has a node that can answer");
    let many = (0..9).fold(Case::new(), |case, i| case.node(not_ready(node(&format!("n{i}"), "z"))));
    assert!(names(&many).unwrap_err().ends_with("node `n4` is not ready, and 4 more"));
}

#[test]
fn another_label_makes_other_zones_and_none_at_all_is_an_error() {
    let case = cluster().node(Node::new("r1").label("rack", "1")).option("label", "rack");
    assert_eq!(names(&case).unwrap(), ["r1"]);
    let error = names(&cluster().option("label", "row")).unwrap_err();
    assert_eq!(
        error,
        "no node has the label `row`, so the cluster has no zones: set the label, or choose another one with the option `label`"
    );
}

#[test]
fn invalid_options_are_reported() {
    let error = names(&cluster().option("lable", "rack")).unwrap_err();
    assert!(error.contains("unknown field `lable`"), "{error}");
    let error = names(&cluster().option("unready", "wait")).unwrap_err();
    assert!(error.contains("unknown variant `wait`"), "{error}");
    let error = names(&cluster().pod_spec(json!({ "nodeSelector": ["a"] }))).unwrap_err();
    assert!(error.starts_with("the `podSpec` is malformed: "), "{error}");
}
