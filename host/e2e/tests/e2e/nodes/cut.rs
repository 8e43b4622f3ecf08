//! Tests of a node that loses its network.

use std::time::Instant;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::runtime::wait::await_condition;
use serde_json::Value;

use super::{has_nodes, is_ready};
use crate::bed::{Bed, phase};
use crate::faults::{impatient, retrieve};
use crate::place::{Change, NodeAccess};
use crate::plugin::Plugin;
use crate::settings::loudly;

/// The disconnected node, counted from 1. It is not the first one, which runs the API server and
/// here the aggregator.
pub(super) const VICTIM: usize = 2;

/// Blocks all traffic of a node. Its processes continue to run.
fn cut_off(places: &NodeAccess, number: usize) -> [Change; 2] {
    [
        places.filter(number, "raw", "PREROUTING -i eth0 -j DROP"),
        places.filter(number, "mangle", "POSTROUTING -o eth0 -j DROP"),
    ]
}

/// Returns the entries of a plugin in the status: node, status, result.
fn entries(status: &Value, plugin: &str) -> Vec<(String, String, String)> {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let all = status["plugins"].as_array().unwrap_or_else(|| panic!("{status}"));
    let of_plugin = all.iter().filter(|entry| entry["plugin"] == plugin);
    let mut entries: Vec<_> =
        of_plugin.map(|entry| (text(entry, "node"), text(entry, "status"), text(entry, "result-status"))).collect();
    entries.sort();
    entries
}

/// Waits until the plugin has a pod on the node whose containers have all started.
fn wait_for_pod_on(bed: &Bed, plugin: &str, node: &str) {
    let pods = bed.api::<Pod>();
    let of_plugin = ListParams::default().labels(&format!("sonobuoy-plugin={plugin}"));
    let name = bed.ask(async {
        // The pod is created soon after the DaemonSet, so polling is sufficient to learn its name.
        loop {
            let found = pods.list(&of_plugin).await?.items.into_iter().find_map(|pod| {
                let here = pod.spec.as_ref()?.node_name.as_deref() == Some(node);
                pod.metadata.name.filter(|_| here)
            });
            if let Some(name) = found {
                return Ok::<_, kube::Error>(name);
            }
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    });
    bed.wait_for_pod(&name, |pod| phase(pod) == "Running");
}

#[test]
fn a_node_that_is_cut_off_is_an_error_of_its_own_and_the_run_ends() {
    let Some(bed) = Bed::alone("cut-off") else { return };
    let Some(bed) = has_nodes(bed, "cut-off", 3) else { return };
    let Some(places) = NodeAccess::of(&bed, "cut-off") else { return };
    let nodes = bed.nodes();
    let (first, victim) = (&nodes[0], &nodes[VICTIM - 1]);
    let config = impatient(&bed);
    let plugins = [Plugin::daemon_set("quick"), Plugin::daemon_set("slow").args(&["--after=20s"])];
    let here = format!("kubernetes.io/hostname:{first}");
    bed.run(&plugins, &["--config", config, "--aggregator-node-selector", &here]).expect(0);
    // Disconnect the node when its first result has arrived and the second plugin is running.
    bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        let status: Value = status.and_then(|status| serde_json::from_str(status).ok()).unwrap_or_default();
        status["plugins"].is_array() && entries(&status, "quick").iter().all(|(_, status, _)| status == "complete")
    });
    wait_for_pod_on(&bed, "slow", victim);
    let (cut, began) = (cut_off(&places, VICTIM), Instant::now());

    bed.command("wait", &["--timeout", "5m"]).expect(3);
    loudly(&format!("cut-off: the run ended {} s after node `{victim}` was cut off", began.elapsed().as_secs()));
    let status = bed.command("status", &["--json"]).expect(3).json();
    for (node, status, result) in entries(&status, "quick") {
        assert_eq!((status.as_str(), result.as_str()), ("complete", "passed"), "{node}");
    }
    for (node, entry, result) in entries(&status, "slow") {
        let expected = if node == *victim { "failed" } else { "passed" };
        assert_eq!(result, expected, "{node}: {entry}");
    }
    // The node is still disconnected here.
    let archive = retrieve(&bed);
    bed.plumbline(&["results", &archive]).expect(3);
    let tree = bed.plumbline(&["results", &archive, "-p", "slow", "-o", "json"]).json();
    let tree = tree.as_array().map_or(&tree, |all| &all[0]);
    let of_node = tree["items"].as_array().unwrap().iter().find(|item| item["name"] == victim.as_str()).unwrap();
    let text = of_node.to_string();
    assert!(text.contains(&format!("node `{victim}` has not been ready for")), "{of_node:#}");
    assert!(text.contains("NodeNotReady"), "{of_node:#}");
    let report = bed.plumbline(&["results", &archive, "-p", "slow"]).out;
    assert!(report.contains(&format!("node {victim} was not ready while plugin slow ran")), "{report}");

    drop(cut);
    bed.ask(await_condition(bed.cluster_api::<Node>(), victim, is_ready));
}
