//! Tests of the run's NetworkPolicy, which restricts connections to the aggregator.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::bed::Bed;
use crate::plugin::Plugin;

/// Returns the names of the namespace's pods that match a label selector.
fn pods(bed: &Bed, selector: &LabelSelector) -> BTreeSet<String> {
    assert!(selector.match_expressions.is_none(), "{selector:?}");
    let labels = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let found = ListParams::default().labels(&labels.collect::<Vec<_>>().join(","));
    bed.ask(bed.api::<Pod>().list(&found)).iter().map(ResourceExt::name_any).collect()
}

#[test]
fn the_network_policy_selects_the_pods_of_the_run_and_no_others() {
    let Some(bed) = Bed::new("network") else { return };
    // With its own pod spec, the DaemonSet is not on the host network.
    let plugins = [
        Plugin::job("once").args(&["--after=60s"]),
        Plugin::daemon_set("each").secured(&json!({})).args(&["--after=60s"]),
    ];
    bed.run(&plugins, &[]).expect(0);
    bed.pod("stranger", &["version"], &json!({}));
    let of_run = 2 + bed.nodes().len();
    // All pods exist when every worker has sent a heartbeat.
    bed.wait_for_pod("sonobuoy", |pod| {
        let status = pod.annotations().get("sonobuoy.hept.io/status").map(String::as_str).unwrap_or_default();
        status.matches("\"last-heartbeat\"").count() == of_run - 1
    });

    let policy = bed.ask(bed.api::<NetworkPolicy>().get("plumbline-aggregator")).spec.unwrap();
    assert_eq!(pods(&bed, &policy.pod_selector.unwrap()), BTreeSet::from(["sonobuoy".to_owned()]));
    let rules = policy.ingress.unwrap();
    let [rule] = &rules[..] else { panic!("{rules:?}") };
    let from = rule.from.as_deref().unwrap();
    let [peer] = from else { panic!("{from:?}") };
    assert!(peer.ip_block.is_none() && peer.namespace_selector.is_none(), "{peer:?}");
    let mut run = pods(&bed, &LabelSelector::default());
    assert!(run.remove("stranger"));
    assert_eq!(pods(&bed, peer.pod_selector.as_ref().unwrap()), run);
    assert_eq!(run.len(), of_run, "{run:?}");
}
