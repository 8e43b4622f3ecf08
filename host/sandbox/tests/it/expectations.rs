//! Tests for the role `expectations`.

use plumbline_core::{ModuleLimits, Node, NodeName};
use plumbline_guest_misbehave::Behaviour;
use plumbline_sandbox::{Expect, ModuleFailure, NoLog};
use serde_json::json;

use crate::support::{misbehave, one_second, plugin};

fn node(name: &str) -> Node {
    Node {
        name: name.parse().unwrap(),
        labels: Default::default(),
        taints: Vec::new(),
        ready: true,
        unschedulable: false,
        os: String::new(),
        arch: String::new(),
    }
}

fn expect(behaviour: Behaviour, limits: &ModuleLimits) -> Result<Vec<NodeName>, ModuleFailure> {
    let pod_spec = json!({ "nodeSelector": {}, "tolerations": [] });
    let nodes = [node("a"), node("b")];
    let plugin = plugin(behaviour);
    let call = Expect { plugin: &plugin, pod_spec: Some(&pod_spec), nodes: &nodes, limits };
    misbehave().expect(call, &mut NoLog).map(|(names, _)| names)
}

fn failure(behaviour: Behaviour) -> String {
    expect(behaviour, &ModuleLimits::default()).unwrap_err().to_string()
}

#[test]
fn results_come_in_the_modules_order() {
    let names = expect(Behaviour::Behave, &ModuleLimits::default()).unwrap();
    let names: Vec<&str> = names.iter().map(NodeName::as_str).collect();
    assert_eq!(names, ["global", "a", "b"]);
}

#[test]
fn the_error_of_the_module_reaches_the_caller() {
    assert_eq!(failure(Behaviour::RefuseHalfway), "a pod spec of 2 keys is too much");
}

#[test]
fn limits_hold_for_this_role_too() {
    let failure = expect(Behaviour::EndlessLoop, &one_second()).unwrap_err();
    assert_eq!(failure.to_string(), "module `misbehave` exceeded its limit `wall-seconds`: 1 second");
    let limits = ModuleLimits { memory: 64 << 10, ..ModuleLimits::default() };
    let failure = expect(Behaviour::Behave, &limits).unwrap_err();
    assert_eq!(failure.to_string(), "module `misbehave` exceeded its limit `memory`: 64 KiB");
}

pub(crate) fn only_known_nodes_are_expected(behaviour: Behaviour) {
    let rule = "module `misbehave` violated the contract: an expected result must be of a node of the cluster: ";
    assert_eq!(failure(behaviour), format!(r"{rule}`nobody\u{{1b}}`"));
}

pub(crate) fn a_result_is_expected_once(behaviour: Behaviour) {
    assert_eq!(
        failure(behaviour),
        "module `misbehave` violated the contract: an expected result must be listed once: `a`"
    );
}

pub(crate) fn expectations_emit_nothing(behaviour: Behaviour) {
    let rule = "module `misbehave` violated the contract: only post-processors, summarizers and checks emit items: ";
    assert_eq!(failure(behaviour), format!("{rule}`emit` was called in another role"));
}
