//! Tests of the rules that select nodes.
#![expect(clippy::panic, reason = "tests")]

use plumbline_module_daemonset::DaemonSet;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Expected, Node};
use serde_json::{Value, json};

/// Returns the names of the expected nodes, in order, separated by spaces.
fn expected(case: &Case) -> Result<String, String> {
    let names = case.expected::<DaemonSet>()?.into_iter().map(|result| match result {
        Expected::Node(name) => name,
        Expected::Global => panic!("a DaemonSet has no cluster-wide result"),
    });
    Ok(names.collect::<Vec<_>>().join(" "))
}

fn case(nodes: &[Node]) -> Case {
    nodes.iter().fold(Case::new().driver("DaemonSet"), |case, node| case.node(node.clone()))
}

fn with_spec(nodes: &[Node], spec: Value) -> Result<String, String> {
    expected(&case(nodes).pod_spec(spec))
}

fn terms(terms: Value) -> Value {
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}

fn expression(key: &str, operator: &str, values: Value) -> Value {
    json!([{"matchExpressions": [{"key": key, "operator": operator, "values": values}]}])
}

fn cluster() -> Vec<Node> {
    vec![
        Node::new("control").label("role", "control").taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),
        Node::new("small").label("cpus", "4").label("disk", "hdd"),
        Node::new("large").label("cpus", "64").label("disk", "ssd"),
        Node::new("odd").label("cpus", "many"),
    ]
}

#[test]
fn without_a_pod_spec_every_node_is_expected() {
    let mut nodes = cluster();
    nodes.push(Node { ready: false, unschedulable: true, ..Node::new("broken").taint("x", "", "NoExecute") });
    assert_eq!(expected(&case(&nodes)).unwrap(), "control small large odd broken");
    assert_eq!(expected(&case(&[])).unwrap(), "");
}

#[test]
fn an_empty_pod_spec_stays_away_from_taints() {
    assert_eq!(with_spec(&cluster(), json!({})).unwrap(), "small large odd");
    assert_eq!(
        with_spec(&cluster(), json!({"tolerations": null, "affinity": null, "nodeSelector": null})).unwrap(),
        "small large odd"
    );
}

#[test]
fn the_option_ignores_taints_and_nothing_else() {
    let spec = json!({"nodeSelector": {"role": "control"}});
    assert_eq!(with_spec(&cluster(), spec.clone()).unwrap(), "");
    assert_eq!(expected(&case(&cluster()).pod_spec(spec).option("ignore-taints", true)).unwrap(), "control");
    assert_eq!(
        expected(&case(&cluster()).pod_spec(json!({})).option("ignore-taints", false)).unwrap(),
        "small large odd"
    );
    assert_eq!(
        expected(&case(&cluster()).option("ignore-taints", "yes")).unwrap_err(),
        "options.ignore-taints: expected true or false, found text"
    );
    // An option of another module of the same plugin.
    assert_eq!(expected(&case(&cluster()).option("keep", json!(["time"]))).unwrap(), "control small large odd");
}

#[test]
fn the_node_selector_wants_every_label() {
    let nodes = cluster();
    assert_eq!(with_spec(&nodes, json!({"nodeSelector": {"disk": "ssd"}})).unwrap(), "large");
    assert_eq!(with_spec(&nodes, json!({"nodeSelector": {"disk": "ssd", "cpus": "4"}})).unwrap(), "");
    assert_eq!(with_spec(&nodes, json!({"nodeSelector": {}})).unwrap(), "small large odd");
    assert_eq!(
        with_spec(&nodes, json!({"nodeSelector": {"gpu": true}})).unwrap_err(),
        "podSpec.nodeSelector.gpu: expected text (in YAML, put it in quotes), found true or false"
    );
}

#[test]
fn the_node_name_pins_the_pod() {
    assert_eq!(with_spec(&cluster(), json!({"nodeName": "odd"})).unwrap(), "odd");
    assert_eq!(with_spec(&cluster(), json!({"nodeName": ""})).unwrap(), "small large odd");
}

#[test]
fn each_operator_on_labels() {
    let nodes = cluster().split_off(1);
    for (key, operator, values, want) in [
        ("disk", "In", json!(["ssd"]), "large"),
        ("disk", "In", json!(["ssd", "hdd"]), "small large"),
        ("disk", "NotIn", json!(["ssd"]), "small odd"),
        ("disk", "Exists", json!(null), "small large"),
        ("disk", "Exists", json!([]), "small large"),
        ("disk", "DoesNotExist", json!(null), "odd"),
        ("cpus", "Gt", json!(["4"]), "large"),
        ("cpus", "Gt", json!(["3"]), "small large"),
        ("cpus", "Lt", json!(["64"]), "small"),
        ("cpus", "Lt", json!(["9223372036854775807"]), "small large"),
        ("cpus", "Gt", json!(["-1"]), "small large"),
        ("none", "Gt", json!(["0"]), ""),
        ("none", "NotIn", json!(["x"]), "small large odd"),
    ] {
        assert_eq!(
            with_spec(&nodes, terms(expression(key, operator, values.clone()))).unwrap(),
            want,
            "{key} {operator} {values}"
        );
    }
}

#[test]
fn each_operator_on_the_name() {
    let nodes = cluster().split_off(1);
    for (operator, value, want) in [("In", "odd", "odd"), ("NotIn", "odd", "small large"), ("In", "none", "")] {
        let term = json!([{"matchFields": [{"key": "metadata.name", "operator": operator, "values": [value]}]}]);
        assert_eq!(with_spec(&nodes, terms(term)).unwrap(), want, "{operator} {value}");
    }
}

#[test]
fn terms_are_alternatives_and_their_parts_are_not() {
    let nodes = cluster().split_off(1);
    let ssd = json!({"key": "disk", "operator": "In", "values": ["ssd"]});
    let small = json!({"key": "cpus", "operator": "Lt", "values": ["10"]});
    let named = json!({"key": "metadata.name", "operator": "In", "values": ["large"]});
    assert_eq!(
        with_spec(&nodes, terms(json!([{"matchExpressions": [ssd]}, {"matchExpressions": [small]}]))).unwrap(),
        "small large"
    );
    assert_eq!(with_spec(&nodes, terms(json!([{"matchExpressions": [ssd, small]}]))).unwrap(), "");
    assert_eq!(
        with_spec(&nodes, terms(json!([{"matchExpressions": [ssd], "matchFields": [named]}]))).unwrap(),
        "large"
    );
    assert_eq!(with_spec(&nodes, terms(json!([{"matchExpressions": [small], "matchFields": [named]}]))).unwrap(), "");
}

#[test]
fn nothing_required_of_an_empty_term_matches_nothing() {
    let nodes = cluster();
    assert_eq!(with_spec(&nodes, terms(json!([]))).unwrap(), "");
    assert_eq!(with_spec(&nodes, terms(json!(null))).unwrap(), "");
    assert_eq!(with_spec(&nodes, terms(json!([{}]))).unwrap(), "");
    assert_eq!(with_spec(&nodes, terms(json!([{"matchExpressions": []}]))).unwrap(), "");
    // An empty term has no effect on the other terms.
    let both = json!([{}, {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]);
    assert_eq!(with_spec(&nodes, terms(both)).unwrap(), "small large");
    // A missing required affinity is not the same as an empty one.
    assert_eq!(with_spec(&nodes, json!({"affinity": {"nodeAffinity": {}}})).unwrap(), "small large odd");
    assert_eq!(with_spec(&nodes, json!({"affinity": {}})).unwrap(), "small large odd");
}

#[test]
fn selector_affinity_and_taints_must_all_agree() {
    let mut spec = terms(expression("disk", "Exists", json!(null)));
    spec["nodeSelector"] = json!({"cpus": "4"});
    assert_eq!(with_spec(&cluster(), spec.clone()).unwrap(), "small");
    let tainted = [Node::new("small").label("cpus", "4").label("disk", "hdd").taint("gpu", "true", "NoSchedule")];
    assert_eq!(with_spec(&tainted, spec.clone()).unwrap(), "");
    spec["tolerations"] = json!([{"key": "gpu", "operator": "Exists"}]);
    assert_eq!(with_spec(&tainted, spec).unwrap(), "small");
}

#[test]
fn tolerations_one_by_one() {
    let node = |effect: &str| [Node::new("n").taint("gpu", "a100", effect)];
    for (toleration, effect, tolerated) in [
        (json!({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}), "NoSchedule", true),
        (json!({"key": "gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}), "NoExecute", false),
        (json!({"key": "gpu", "operator": "Equal", "value": "a100"}), "NoExecute", true),
        (json!({"key": "gpu", "value": "a100"}), "NoSchedule", true),
        (json!({"key": "gpu", "value": "h100"}), "NoSchedule", false),
        (json!({"key": "gpu"}), "NoSchedule", false),
        (json!({"key": "gpu", "operator": "Exists"}), "NoSchedule", true),
        (json!({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}), "NoSchedule", false),
        (json!({"key": "cpu", "operator": "Exists"}), "NoSchedule", false),
        (json!({"operator": "Exists"}), "NoSchedule", true),
        (json!({"operator": "Exists"}), "NoExecute", true),
        (json!({"key": "", "operator": "Exists", "effect": "NoExecute"}), "NoSchedule", false),
        (json!({"key": "cpu", "operator": "Exists"}), "PreferNoSchedule", true),
        (json!({"key": "cpu", "operator": "Exists"}), "SomethingOfTheFuture", true),
        (
            json!({"key": "gpu", "operator": "Exists", "tolerationSeconds": 300, "effect": "NoExecute"}),
            "NoExecute",
            true,
        ),
    ] {
        let want = if tolerated { "n" } else { "" };
        assert_eq!(
            with_spec(&node(effect), json!({"tolerations": [toleration]})).unwrap(),
            want,
            "{toleration} {effect}"
        );
    }
}

#[test]
fn every_taint_must_be_tolerated() {
    let nodes = [Node::new("n").taint("a", "", "NoSchedule").taint("b", "", "NoExecute")];
    let a = json!({"key": "a", "operator": "Exists"});
    let b = json!({"key": "b", "operator": "Exists"});
    assert_eq!(with_spec(&nodes, json!({"tolerations": [a]})).unwrap(), "");
    assert_eq!(with_spec(&nodes, json!({"tolerations": [a, b]})).unwrap(), "n");
}

#[test]
fn the_taints_of_nodes_in_trouble_are_tolerated_by_every_daemon() {
    for (key, effect, expected) in [
        ("node.kubernetes.io/not-ready", "NoExecute", true),
        ("node.kubernetes.io/not-ready", "NoSchedule", false),
        ("node.kubernetes.io/unreachable", "NoExecute", true),
        ("node.kubernetes.io/disk-pressure", "NoSchedule", true),
        ("node.kubernetes.io/memory-pressure", "NoSchedule", true),
        ("node.kubernetes.io/pid-pressure", "NoSchedule", true),
        ("node.kubernetes.io/unschedulable", "NoSchedule", true),
        ("node.kubernetes.io/network-unavailable", "NoSchedule", false),
    ] {
        let nodes = [Node { ready: false, unschedulable: true, ..Node::new("n").taint(key, "", effect) }];
        let want = if expected { "n" } else { "" };
        assert_eq!(with_spec(&nodes, json!({})).unwrap(), want, "{key}:{effect}");
    }
    let nodes = [Node::new("n").taint("node.kubernetes.io/network-unavailable", "", "NoSchedule")];
    assert_eq!(with_spec(&nodes, json!({"hostNetwork": true})).unwrap(), "n");
    assert_eq!(with_spec(&nodes, json!({"hostNetwork": false})).unwrap(), "");
}

#[test]
fn values_that_the_api_server_rejects_are_reported() {
    let place = "podSpec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]";
    for (spec, want) in [
        (
            terms(expression("a", "Contains", json!(["b"]))),
            format!("{place}.matchExpressions[0].operator: `Contains` is not known: use `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`"),
        ),
        (terms(expression("a", "In", json!([]))), format!("{place}.matchExpressions[0]: operator `In` needs at least one value")),
        (terms(expression("a", "NotIn", json!(null))), format!("{place}.matchExpressions[0]: operator `NotIn` needs at least one value")),
        (terms(expression("a", "Exists", json!(["b"]))), format!("{place}.matchExpressions[0]: operator `Exists` takes no values")),
        (terms(expression("a", "DoesNotExist", json!(["b"]))), format!("{place}.matchExpressions[0]: operator `DoesNotExist` takes no values")),
        (terms(expression("a", "Gt", json!(["1", "2"]))), format!("{place}.matchExpressions[0]: operator `Gt` needs exactly one value")),
        (terms(expression("a", "Lt", json!(["1.5"]))), format!("{place}.matchExpressions[0]: operator `Lt` needs a whole number")),
        (
            terms(expression("a", "In", json!([1]))),
            format!("{place}.matchExpressions[0].values[0]: expected text (in YAML, put it in quotes), found a number"),
        ),
        (terms(json!([{"matchExpressions": [{"operator": "Exists"}]}])), format!("{place}.matchExpressions[0]: `key` is missing")),
        (terms(json!([{"matchExpressions": [{"key": "a"}]}])), format!("{place}.matchExpressions[0]: `operator` is missing")),
        (
            terms(json!([{"matchFields": [{"key": "spec.podCIDR", "operator": "In", "values": ["x"]}]}])),
            format!("{place}.matchFields[0].key: `spec.podCIDR` is not known: use `metadata.name`, the only field that can be matched"),
        ),
        (
            terms(json!([{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}])),
            format!("{place}.matchFields[0].operator: `Exists` is not known: use `In` or `NotIn`"),
        ),
        (
            terms(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}])),
            format!("{place}.matchFields[0]: operator `In` needs exactly one value in `matchFields`"),
        ),
        (
            json!({"tolerations": [{"key": "a", "operator": "Like"}]}),
            "podSpec.tolerations[0].operator: `Like` is not known: use `Equal` or `Exists`".to_owned(),
        ),
        (json!({"tolerations": [{"value": "a"}]}), "podSpec.tolerations[0]: operator `Equal` needs a `key`".to_owned()),
        (
            json!({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}),
            "podSpec.tolerations[0]: operator `Exists` takes no `value`".to_owned(),
        ),
        (
            json!({"tolerations": [{"operator": "Exists", "effect": "NoSchedul"}]}),
            "podSpec.tolerations[0].effect: `NoSchedul` is not known: use `NoSchedule`, `PreferNoSchedule` or `NoExecute`".to_owned(),
        ),
        (json!({"tolerations": {"key": "a"}}), "podSpec.tolerations: expected a list, found an object".to_owned()),
        (json!({"hostNetwork": "yes"}), "podSpec.hostNetwork: expected true or false, found text".to_owned()),
        (json!([]), "podSpec: expected an object, found a list".to_owned()),
    ] {
        assert_eq!(with_spec(&cluster(), spec.clone()).unwrap_err(), want, "{spec}");
    }
}

#[test]
fn foreign_words_in_messages_are_cut() {
    let error = with_spec(&cluster(), terms(expression("a", &"x".repeat(5000), json!(null)))).unwrap_err();
    assert!(error.len() < 400, "{} bytes", error.len());
}

#[test]
fn windows_nodes_are_expected_only_of_plugins_that_ask_for_them() {
    let node = |name: &str, os: &str| Node { os: os.to_owned(), ..Node::new(name).label("kubernetes.io/os", os) };
    let mut nodes = vec![node("lin", "linux"), node("win", "windows")];
    assert_eq!(expected(&case(&nodes)).unwrap(), "lin", "the default pod");
    assert_eq!(with_spec(&nodes, json!({})).unwrap(), "lin");
    assert_eq!(with_spec(&nodes, json!({"nodeSelector": {"kubernetes.io/os": "windows"}})).unwrap(), "win");
    assert_eq!(with_spec(&nodes, json!({"os": {"name": "windows"}})).unwrap(), "win");
    assert_eq!(with_spec(&nodes, json!({"os": {"name": "linux"}})).unwrap(), "lin");
    let both = expression("kubernetes.io/os", "In", json!(["linux", "windows"]));
    assert_eq!(with_spec(&nodes, terms(both)).unwrap(), "lin win");
    // A node of unknown operating system counts.
    nodes.push(Node::new("quiet"));
    assert_eq!(expected(&case(&nodes)).unwrap(), "lin quiet");
    assert!(with_spec(&nodes, json!({"os": "windows"})).unwrap_err().contains("podSpec.os"));
}
