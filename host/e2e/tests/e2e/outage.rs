//! Tests of an API server that the aggregator cannot reach for a while.

use std::thread::sleep;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::bed::Bed;
use crate::faults::{error, impatient, retrieve};
use crate::place::NodeAccess;
use crate::plugin::Plugin;

/// Duration of the outage. The results arrive and the pods end during this time.
const OUTAGE: Duration = Duration::from_secs(20);

fn address_of(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.pod_ip.as_deref()
}

#[test]
fn a_run_outlives_an_outage_of_the_api_server() {
    let Some(bed) = Bed::new("outage") else { return };
    let Some(places) = NodeAccess::of(&bed, "outage") else { return };
    let here = format!("kubernetes.io/hostname:{}", bed.nodes()[0]);
    let config = impatient(&bed);
    let plugins = [Plugin::job("short").args(&["--after=8s"]), Plugin::job("long").args(&["--after=30s"])];
    bed.run(&plugins, &["--config", config, "--aggregator-node-selector", &here]).expect(0);
    let aggregator = bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.metadata.annotations.as_ref().and_then(|all| all.get("sonobuoy.hept.io/status"));
        let status: Value = status.and_then(|status| serde_json::from_str(status).ok()).unwrap_or_default();
        let heard = status["plugins"]
            .as_array()
            .is_some_and(|entries| entries.iter().all(|entry| !entry["last-heartbeat"].is_null()));
        // The node may report this later than the aggregator itself.
        heard && address_of(pod).is_some()
    });
    let address = address_of(&aggregator).unwrap();
    // The API server is on the first node, like the aggregator. Packets from the pod to it are
    // rejected with a reset.
    let rule = format!("INPUT -s {address} -p tcp --dport 6443 -j REJECT --reject-with tcp-reset");
    let broken = places.filter(1, "filter", &rule);
    // The test cannot observe what happens during the outage, so it sleeps.
    sleep(OUTAGE);
    drop(broken);
    bed.command("wait", &["--timeout", "5m"]).expect(0);
    let archive = retrieve(&bed);
    for plugin in ["short", "long"] {
        assert_eq!(error(&bed, &archive, plugin)["status"], "passed", "{plugin}");
    }
    let pod = bed.ask(bed.api::<Pod>().get("sonobuoy"));
    let restarts: i32 = pod
        .status
        .and_then(|status| status.container_statuses)
        .unwrap_or_default()
        .iter()
        .map(|container| container.restart_count)
        .sum();
    assert_eq!(restarts, 0);
}
