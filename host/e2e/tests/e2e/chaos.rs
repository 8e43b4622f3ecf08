//! Tests of an aggregator whose API server rejects, delays and loses requests.

mod server;

use std::fs;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use self::server::Unreliable;
use crate::bed::Bed;
use crate::faults::{error, retrieve};
use crate::plugin::Plugin;
use crate::settings::loudly;
use crate::sink::own_address;

/// Minimum number of faults. A whole run makes more than four times as many requests.
const FAULTS: usize = 10;
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Redirects the aggregator of a manifest to `server` instead of the cluster's API server, with its
/// own token.
fn redirect(manifest: &str, namespace: &str, server: &Unreliable) -> String {
    let mut documents: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
    let spec = &mut documents.iter_mut().find(|object| object["kind"] == "Pod").unwrap()["spec"];
    let push = |list: &mut Value, entry: Value| match list.as_array_mut() {
        Some(list) => list.push(entry),
        None => *list = json!([entry]),
    };
    let of_account = json!({"projected": {"sources": [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "unreliable"}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]}, "name": "unreliable"});
    push(&mut spec["volumes"], of_account);
    let container = &mut spec["containers"][0];
    push(&mut container["volumeMounts"], json!({"name": "unreliable", "mountPath": SERVICE_ACCOUNT, "readOnly": true}));
    let (host, port) = (server.address.ip().to_string(), server.address.port().to_string());
    push(&mut container["env"], json!({"name": "KUBERNETES_SERVICE_HOST", "value": host}));
    push(&mut container["env"], json!({"name": "KUBERNETES_SERVICE_PORT", "value": port}));
    documents.insert(
        1,
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "unreliable", "namespace": namespace},
            "data": {"ca.crt": server.certificate},
        }),
    );
    documents.iter().map(|document| format!("---\n{document}\n")).collect()
}

#[test]
fn a_run_with_an_unreliable_api_server_loses_no_result() {
    let Some(bed) = Bed::new("chaos") else { return };
    let Some(ip) = own_address(&bed).filter(|ip| !ip.is_loopback()) else {
        loudly("SKIPPED chaos: pods cannot reach this machine at the address from which it talks to the API server");
        return;
    };
    let server = Unreliable::start(&bed, ip);
    let plugins = [
        Plugin::job("once").args(&["--after=30s", "--progress=10"]),
        Plugin::job("fails").args(&["--after=10s", "--outcome=fail"]),
        Plugin::daemon_set("each").args(&["--after=20s"]),
    ];
    let manifest = bed.with_plugins("gen", &plugins, &[]).expect(0).out;
    fs::write(bed.path("run.yaml"), redirect(&manifest, bed.namespace(), &server)).unwrap();
    bed.plumbline(&["run", "-f", "run.yaml", "--wait"]).expect(1);

    let struck = server.struck();
    loudly(&format!("chaos: {struck:?}"));
    assert!(struck.values().sum::<usize>() >= FAULTS, "{struck:?}");
    let pod = bed.ask(bed.api::<Pod>().get("sonobuoy"));
    let containers = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
    assert!(containers.iter().all(|container| container.restart_count == 0), "{containers:?}");
    let archive = retrieve(&bed);
    for (plugin, status) in [("once", "passed"), ("fails", "failed"), ("each", "passed")] {
        let shown = bed.plumbline(&["results", &archive, "-p", plugin, "-o", "json"]).json();
        let tree = shown.as_array().map_or(&shown, |all| &all[0]);
        assert_eq!(tree["status"], status, "{plugin}: {}", error(&bed, &archive, plugin));
    }
}
