//! Tests that need several nodes. `cargo xtask e2e` selects them by the name of this module.

mod alike;
mod cut;
mod frozen;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Node;

use crate::bed::Bed;
use crate::plugin::Plugin;
use crate::settings::loudly;

/// Returns an environment in a cluster with at least `nodes` nodes.
fn bed_with(test: &str, nodes: usize) -> Option<Bed> {
    has_nodes(Bed::new(test)?, test, nodes)
}

/// Returns the environment if its cluster has at least `nodes` nodes.
pub(crate) fn has_nodes(bed: Bed, test: &str, nodes: usize) -> Option<Bed> {
    let found = bed.nodes().len();
    if found < nodes {
        loudly(&format!("SKIPPED {test}: it needs {nodes} nodes, and the cluster has {found}"));
        return None;
    }
    Some(bed)
}

/// Returns whether a node is ready.
pub(crate) fn is_ready(node: Option<&Node>) -> bool {
    let status = node.and_then(|node| node.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[test]
fn every_node_reports_for_itself() {
    let Some(bed) = bed_with("every-node", 2) else { return };
    let plugins = [Plugin::daemon_set("one"), Plugin::daemon_set("two").format("manual")];
    bed.run(&plugins, &["--wait"]).expect(0);
    let status = bed.command("status", &["--json"]).expect(0).json();
    let nodes: BTreeSet<String> = bed.nodes().into_iter().collect();
    for plugin in ["one", "two"] {
        let entries: Vec<_> =
            status["plugins"].as_array().unwrap().iter().filter(|entry| entry["plugin"] == plugin).collect();
        let reported: BTreeSet<String> =
            entries.iter().filter_map(|entry| entry["node"].as_str()).map(str::to_owned).collect();
        assert_eq!((entries.len(), &reported), (nodes.len(), &nodes), "{status}");
        assert!(entries.iter().all(|entry| entry["result-status"] == "passed"), "{status}");
    }
}
