//! Compares the module with an independent evaluator, which works directly on the JSON and follows
//! the wording of the API's documentation.
#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};

use plumbline_module_daemonset::DaemonSet;
use plumbline_sdk::testing::Case;
use plumbline_sdk::{Expected, Node};
use proptest::prelude::*;
use serde_json::{Value, json};

const KEYS: [&str; 3] = ["a", "b", "c"];
const VALUES: [&str; 6] = ["", "1", "2", "-3", "x", "9223372036854775808"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn oracle(spec: &Value, node: &Node) -> bool {
    if let Some(name) = spec["nodeName"].as_str()
        && name != node.name
    {
        return false;
    }
    if let Some(selector) = spec["nodeSelector"].as_object() {
        for (key, value) in selector {
            if node.labels.get(key).map(String::as_str) != value.as_str() {
                return false;
            }
        }
    }
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_object() {
        let mut any = false;
        for term in required["nodeSelectorTerms"].as_array().into_iter().flatten() {
            let mut parts = 0;
            let mut all = true;
            for part in term["matchExpressions"].as_array().into_iter().flatten() {
                parts += 1;
                all &= label_rule(part, &node.labels);
            }
            for part in term["matchFields"].as_array().into_iter().flatten() {
                parts += 1;
                let same = part["values"][0] == node.name.as_str();
                all &= if part["operator"] == "In" { same } else { !same };
            }
            any |= parts > 0 && all;
        }
        if !any {
            return false;
        }
    }
    let mut tolerations: Vec<(String, String, String, String)> = spec["tolerations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|t| {
            let text = |key: &str| t[key].as_str().unwrap_or_default().to_owned();
            (text("key"), text("operator"), text("value"), text("effect"))
        })
        .collect();
    for (key, effect) in [("unschedulable", "NoSchedule"), ("not-ready", "NoExecute")] {
        tolerations.push((format!("node.kubernetes.io/{key}"), "Exists".into(), String::new(), effect.into()));
    }
    for taint in &node.taints {
        if taint.effect == "PreferNoSchedule" {
            continue;
        }
        let mut tolerated = false;
        for (key, operator, value, effect) in &tolerations {
            let key_fits = key.is_empty() || *key == taint.key;
            let value_fits = operator == "Exists" || *value == taint.value;
            let effect_fits = effect.is_empty() || *effect == taint.effect;
            tolerated |= key_fits && value_fits && effect_fits;
        }
        if !tolerated {
            return false;
        }
    }
    true
}

fn label_rule(part: &Value, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(part["key"].as_str().unwrap());
    let values: BTreeSet<&str> = part["values"].as_array().into_iter().flatten().map(|v| v.as_str().unwrap()).collect();
    // Wider than the API's 64 bits, to distinguish numbers that fit from those that do not.
    let numbers = || {
        let number: i128 = value?.parse().ok()?;
        let bound: i128 = values.first()?.parse().ok()?;
        i64::try_from(number).ok()?;
        Some((number, bound))
    };
    match part["operator"].as_str().unwrap() {
        "In" => value.is_some_and(|v| values.contains(v.as_str())),
        "NotIn" => value.is_none_or(|v| !values.contains(v.as_str())),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(number, bound)| number > bound),
        "Lt" => numbers().is_some_and(|(number, bound)| number < bound),
        other => panic!("{other}"),
    }
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&KEYS[..])
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&VALUES[..])
}

fn node() -> impl Strategy<Value = Node> {
    let labels = prop::collection::btree_map(key(), value(), 0..=3);
    let trouble = prop::sample::select(&["node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"][..]);
    let taint = (prop_oneof![4 => key(), 1 => trouble], value(), prop::sample::select(&EFFECTS[..]));
    (labels, prop::collection::vec(taint, 0..3)).prop_map(|(labels, taints)| {
        let mut node = Node::new("n0");
        for (key, value) in labels {
            node = node.label(key, value);
        }
        for (key, value, effect) in taints {
            node = node.taint(key, value, effect);
        }
        node
    })
}

fn expression() -> impl Strategy<Value = Value> {
    prop_oneof![
        (key(), prop::sample::select(&["In", "NotIn"][..]), prop::collection::vec(value(), 1..3))
            .prop_map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values})),
        (key(), prop::sample::select(&["Exists", "DoesNotExist"][..]))
            .prop_map(|(key, operator)| json!({"key": key, "operator": operator})),
        (key(), prop::sample::select(&["Gt", "Lt"][..]), -4_i64..4).prop_map(
            |(key, operator, bound)| json!({"key": key, "operator": operator, "values": [bound.to_string()]})
        ),
    ]
}

fn term() -> impl Strategy<Value = Value> {
    let name = (prop::sample::select(&["In", "NotIn"][..]), prop::sample::select(&["n0", "n1"][..]))
        .prop_map(|(operator, name)| json!({"key": "metadata.name", "operator": operator, "values": [name]}));
    (prop::collection::vec(expression(), 0..3), prop::collection::vec(name, 0..2))
        .prop_map(|(expressions, fields)| json!({"matchExpressions": expressions, "matchFields": fields}))
}

fn toleration() -> impl Strategy<Value = Value> {
    let effect = prop_oneof![Just(""), prop::sample::select(&EFFECTS[..])];
    (prop_oneof![Just(""), key()], value(), any::<bool>(), effect).prop_map(|(key, value, exists, effect)| {
        if exists || key.is_empty() {
            json!({"key": key, "operator": "Exists", "effect": effect})
        } else {
            json!({"key": key, "operator": "Equal", "value": value, "effect": effect})
        }
    })
}

fn spec() -> impl Strategy<Value = Value> {
    (
        prop::option::weighted(0.1, prop::sample::select(&["n0", "n1"][..])),
        prop::option::of(prop::collection::btree_map(key(), value(), 0..2)),
        prop::option::of(prop::collection::vec(term(), 0..3)),
        prop::collection::vec(toleration(), 0..4),
    )
        .prop_map(|(name, selector, terms, tolerations)| {
            let required = terms.map(|terms| json!({"nodeSelectorTerms": terms}));
            json!({
                "nodeName": name,
                "nodeSelector": selector,
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
                "tolerations": tolerations,
            })
        })
}

/// Generates arbitrary values. A value that is not a pod spec must give an error or an answer, not
/// a panic.
fn rubbish() -> impl Strategy<Value = Value> {
    let field = prop::sample::select(
        &[
            "affinity",
            "nodeAffinity",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
            "matchExpressions",
            "matchFields",
            "key",
            "operator",
            "values",
            "tolerations",
            "nodeSelector",
            "effect",
            "In",
        ][..],
    );
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z]{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(8, 64, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(field.clone(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_an_evaluator_of_the_documentation(spec in spec(), node in node()) {
        let got = Case::new().driver("DaemonSet").pod_spec(spec.clone()).node(node.clone()).expected::<DaemonSet>().unwrap();
        let want = if oracle(&spec, &node) { vec![Expected::Node("n0".to_owned())] } else { vec![] };
        prop_assert_eq!(got, want, "{} {:?}", spec, node);
    }

    #[test]
    fn ignoring_taints_never_takes_a_node_away(spec in spec(), node in node()) {
        let case = Case::new().driver("DaemonSet").pod_spec(spec).node(node);
        let with: BTreeSet<_> = case.expected::<DaemonSet>().unwrap().into_iter().collect();
        let without: BTreeSet<_> = case.option("ignore-taints", true).expected::<DaemonSet>().unwrap().into_iter().collect();
        prop_assert!(with.is_subset(&without));
    }

    #[test]
    fn no_pod_spec_makes_it_panic(spec in rubbish(), node in node()) {
        let _ = Case::new().driver("DaemonSet").pod_spec(spec).node(node).expected::<DaemonSet>();
    }
}
