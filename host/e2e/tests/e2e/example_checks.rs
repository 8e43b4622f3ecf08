//! The example checks on a real cluster. Each of them meets a fault, and finds it where it is.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, PostParams};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

use crate::bed::Bed;
use crate::checks::{changed_example, descendant, example, status, tree};
use crate::faults::retrieve;
use crate::place::{Change, NodeAccess};
use crate::settings::loudly;

/// The configuration of the kubelet that `cis-node` reads.
const KUBELET: &str = "/var/lib/kubelet/config.yaml";
/// A certificate that `node-certificates` reads.
const CERTIFICATE: &str = "/var/lib/kubelet/pki/plumbline-e2e.crt";
/// The directory that `gpu-drift` reads.
const DEVICES: &str = "/sys/bus/pci/devices";
/// The file from which `node-ready` learns whether swap is on.
const SWAPS: &str = "/proc/swaps";
/// A device of the recorded tree to which no driver is bound.
const DEVICE: &str = "0000:bb:00.0";

/// Returns a recorded file or directory of an example.
fn recorded(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path).canonicalize().unwrap()
}

/// Returns a certificate that is valid until the start of a year.
fn certificate(year: i32) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "e2e");
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// Gives both nodes a configuration, a certificate and a list of swap space. Those of the second node
/// are bad, and it has a device without a driver.
fn break_node(places: &NodeAccess) -> Vec<Change> {
    let mut changes =
        vec![places.mount(2, &recorded("gpu-drift/tests/other-driver/files/sys/bus/pci/devices"), DEVICES)];
    for (number, case) in [(1, "ready"), (2, "not-ready")] {
        let swaps = recorded(&format!("node-ready/tests/{case}/files/proc/swaps"));
        changes.push(places.mount(number, &swaps, SWAPS));
    }
    for (number, case, year) in [(1, "hardened", 2048), (2, "open", 2020)] {
        let config = recorded(&format!("cis-node/tests/{case}/files/var/lib/kubelet/config.yaml"));
        changes.push(places.write(number, KUBELET, &fs::read_to_string(config).unwrap()));
        changes.push(places.write(number, CERTIFICATE, &certificate(year)));
    }
    changes
}

/// Objects of the cluster with faults, which are deleted when dropped.
struct BadObjects<'a> {
    bed: &'a Bed,
}

impl<'a> BadObjects<'a> {
    /// Creates a role that grants everything, from a manifest of a removed version; a binding of
    /// `cluster-admin`; and a custom resource whose stored version is deprecated.
    fn new(bed: &'a Bed) -> Self {
        let (name, group, create) = (bed.namespace(), Self::group(bed), PostParams::default());
        let manifest = json!({"apiVersion": "rbac.authorization.k8s.io/v1beta1", "kind": "ClusterRole"}).to_string();
        let role = json!({
            "metadata": {
                "name": name,
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": manifest},
            },
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        });
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "nobody", "namespace": name}],
        });
        let version = json!({
            "name": "v1beta1", "served": true, "storage": true, "deprecated": true,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        });
        let definition = json!({
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                "versions": [version],
            },
        });
        // Each is deleted, also if the next one cannot be created.
        let objects = Self { bed };
        let roles = bed.cluster_api::<ClusterRole>();
        bed.ask(roles.create(&create, &serde_json::from_value(role).unwrap()));
        let bindings = bed.cluster_api::<ClusterRoleBinding>();
        bed.ask(bindings.create(&create, &serde_json::from_value(binding).unwrap()));
        let definitions = bed.cluster_api::<CustomResourceDefinition>();
        bed.ask(definitions.create(&create, &serde_json::from_value(definition).unwrap()));
        objects
    }

    /// Returns the API group of the custom resource.
    fn group(bed: &Bed) -> String {
        format!("{}.example.com", bed.namespace())
    }
}

impl Drop for BadObjects<'_> {
    fn drop(&mut self) {
        let (name, now) = (self.bed.namespace(), DeleteParams::background());
        let definition = format!("widgets.{}", Self::group(self.bed));
        // One that was not created is not there.
        self.bed.ask(async {
            let _ = self.bed.cluster_api::<ClusterRole>().delete(name, &now).await;
            let _ = self.bed.cluster_api::<ClusterRoleBinding>().delete(name, &now).await;
            let _ = self.bed.cluster_api::<CustomResourceDefinition>().delete(&definition, &now).await;
            Ok::<_, kube::Error>(())
        });
    }
}

/// Alone, because it breaks a node, and other tests compare what nodes have.
#[test]
fn each_example_check_finds_the_fault_of_a_node_or_of_the_cluster() {
    let test = "examples";
    let Some(bed) = Bed::alone(test) else { return };
    let Some(places) = NodeAccess::of(&bed, test) else { return };
    if [1, 2].iter().any(|number| places.has(*number, KUBELET) || places.has(*number, CERTIFICATE)) {
        loudly(&format!("SKIPPED {test}: a node has `{KUBELET}` or `{CERTIFICATE}`, which the test must not change"));
        return;
    }
    let audit = [("registries: []", "registries: [registry.example.com]")];
    let plugins = [
        example(&bed, "cis-node"),
        example(&bed, "node-certificates"),
        example(&bed, "gpu-drift"),
        example(&bed, "node-ready"),
        example(&bed, "deprecated-apis"),
        changed_example(&bed, "cluster-audit", &audit),
        changed_example(&bed, "node-reachability", &[("wait-seconds: 60", "wait-seconds: 20")]),
    ];
    let args: Vec<&str> =
        plugins.iter().flat_map(|plugin| ["-p", plugin.to_str().unwrap()]).chain(["--wait"]).collect();
    let changes = break_node(&places);
    let objects = BadObjects::new(&bed);
    // The server is on the first node.
    let dns = places.filter(2, "filter", "FORWARD -p udp --dport 53 -j DROP");
    bed.run(&[], &args).expect(1);
    drop((dns, objects, changes));

    let archive = retrieve(&bed);
    let tree = |plugin: &str| tree(&bed, &archive, plugin);
    assert_nodes(&bed.nodes(), tree);
    assert_cluster(&bed, tree);
}

/// Fails unless the checks of nodes have found the faults of the second node, and none on the first.
fn assert_nodes(nodes: &[String], tree: impl Fn(&str) -> Value) {
    let (good, bad) = (nodes[0].as_str(), nodes[1].as_str());
    for (plugin, item) in
        [("cis-node", ["kubelet", "anonymous requests are rejected"]), ("node-certificates", [CERTIFICATE, "CN=e2e"])]
    {
        let tree = tree(plugin);
        assert_eq!(status(&tree, &[good, item[0], item[1]]), "passed", "{tree}");
        assert_eq!(status(&tree, &[bad, item[0], item[1]]), "failed", "{tree}");
    }
    let ready = tree("node-ready");
    assert_eq!(status(&ready, &[good, "swap is off"]), "passed", "{ready}");
    assert_eq!(status(&ready, &[bad, "swap is off"]), "failed", "{ready}");
    let devices = tree("gpu-drift");
    assert_eq!(status(&devices, &[good, DEVICE]), &Value::Null, "{devices}");
    assert_eq!(status(&devices, &[bad, DEVICE]), "failed", "{devices}");
    // Only the second node has the recorded devices.
    let drift = descendant(&devices, &["drift"]).and_then(|item| item["items"].as_array());
    let differs = |item: &Value| item["name"].as_str().is_some_and(|name| name.starts_with("devices: "));
    assert!(drift.is_some_and(|facts| facts.iter().any(differs)), "{devices}");
    let names = tree("node-reachability");
    let name = |node: &str| status(&names, &[node, "names", "kubernetes.default.svc"]);
    assert_eq!(name(good), "passed", "{names}");
    // Whether the time is over, or the resolver gives up before, depends on the resolver.
    assert!(["failed", "unknown"].iter().any(|status| name(bad) == status), "{names}");
}

/// Fails unless the checks of the cluster have found the bad objects.
fn assert_cluster(bed: &Bed, tree: impl Fn(&str) -> Value) {
    let (name, pod) = (bed.namespace(), format!("{}/sonobuoy", bed.namespace()));
    let definition = format!("widgets.{}", BadObjects::group(bed));
    for (plugin, rule, object) in [
        ("cluster-audit", "no role grants everything", name),
        ("cluster-audit", "cluster-admin is bound to nobody else", name),
        ("cluster-audit", "images come from known registries", &pod),
        ("deprecated-apis", "clusterroles", name),
        ("deprecated-apis", "stored versions of custom resources", &definition),
    ] {
        let tree = tree(plugin);
        assert_eq!(status(&tree, &[rule, object]), "failed", "{rule}: {tree}");
    }
    // A rule about something else does not fail.
    assert_ne!(status(&tree("deprecated-apis"), &["deployments"]), "failed");
}
