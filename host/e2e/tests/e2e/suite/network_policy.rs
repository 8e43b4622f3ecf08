//! Tests of the profile `network-policy`, on a network that enforces no policy and on one that
//! does, and of the policy of a run on the latter.

use std::collections::BTreeMap;
use std::fs;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::bed::{Bed, Done, phase};
use crate::plugin::Plugin;

const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/profiles/network-policy");

/// The image of the suite and of its pods, in the registry of the test cluster.
const SUITE: &str = "registry.k8s.io/network-policy-suite:lab";

/// The image of kube-router there.
const ROUTER: &str = "registry.k8s.io/kube-router:lab";

/// The namespace of the engine.
const SYSTEM: &str = "kube-system";

/// Removes what kube-router adds to a node, because kube-router itself does not.
const ENGINE: &str = r#"
kube-router --run-router=false --run-service-proxy=false --run-firewall=true \
    --service-cluster-ip-range=10.96.0.0/16 --hostname-override="$NODE_NAME" &
trap 'kill $!' TERM INT
wait; wait
for family in ip ip6; do
    "$family"tables-save | grep -vE 'KUBE-(ROUTER|POD-FW|NWPLCY)' | "$family"tables-restore
done
ipset destroy
"#;

/// Runs the short mode of the suite.
fn quick(bed: &Bed) -> Done {
    let [image, probes] = ["image", "probe-image"].map(|option| format!("{option}={SUITE}"));
    let run =
        ["conformance", "run", PROFILE, "--mode", "quick", "-n", bed.namespace(), "--dir", "out", "--timeout", "8m"];
    let images = ["--image", bed.image(), "--image-pull-policy", "IfNotPresent", "--set", &image, "--set", &probes];
    bed.plumbline(&[&run[..], &images].concat())
}

/// Returns the tests of the downloaded archive, by name.
fn tests(bed: &Bed) -> BTreeMap<String, Value> {
    let archives: Vec<_> = fs::read_dir(bed.path("out")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [archive] = &archives[..] else { panic!("{archives:?}") };
    let trees = bed.plumbline(&["results", archive.to_str().unwrap(), "-o", "json"]).json();
    let (mut tests, mut rest) = (BTreeMap::new(), vec![&trees[0]]);
    while let Some(item) = rest.pop() {
        match item["items"].as_array() {
            Some(items) => rest.extend(items),
            None => drop(tests.insert(item["name"].as_str().unwrap().to_owned(), item.clone())),
        }
    }
    tests
}

/// kube-router on every node, until this value is dropped.
struct Engine<'a> {
    bed: &'a Bed,
    daemons: Api<DaemonSet>,
}

impl<'a> Engine<'a> {
    fn start(bed: &'a Bed) -> Self {
        let (name, params) = (bed.namespace(), PostParams::default());
        let labels = json!({"namespace": name});
        let account: ServiceAccount = from(json!({"metadata": {"name": name, "labels": labels}}));
        let role: ClusterRole = from(json!({
            "metadata": {"name": name, "labels": labels},
            "rules": [
                {"apiGroups": [""], "resources": ["namespaces", "pods", "services", "nodes", "endpoints"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]},
            ],
        }));
        let binding: ClusterRoleBinding = from(json!({
            "metadata": {"name": name, "labels": labels},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "namespace": SYSTEM, "name": name}],
        }));
        let container = json!({
            "name": "kube-router",
            "image": ROUTER,
            "command": ["sh", "-c", ENGINE],
            "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
            "securityContext": {"privileged": true},
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": 20244}, "periodSeconds": 1},
            "volumeMounts": [{"name": "lock", "mountPath": "/run/xtables.lock"}],
        });
        let daemon: DaemonSet = from(json!({
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {
                        "serviceAccountName": name,
                        "hostNetwork": true,
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [container],
                        "volumes": [{"name": "lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}}],
                    },
                },
            },
        }));
        let accounts: Api<ServiceAccount> = bed.api_in(SYSTEM);
        bed.ask(accounts.create(&params, &account));
        bed.ask(bed.cluster_api().create(&params, &role));
        bed.ask(bed.cluster_api().create(&params, &binding));
        let engine = Self { bed, daemons: bed.api_in(SYSTEM) };
        bed.ask(engine.daemons.create(&params, &daemon));
        let nodes = i32::try_from(bed.nodes().len()).unwrap();
        let ready = |daemon: Option<&DaemonSet>| {
            daemon.and_then(|daemon| daemon.status.as_ref()).is_some_and(|status| status.number_ready == nodes)
        };
        bed.ask(await_condition(engine.daemons.clone(), name, ready));
        engine
    }
}

impl Drop for Engine<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would abort the process. Catch it, so that the first one is reported.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.remove()));
        } else {
            self.remove();
        }
    }
}

impl Engine<'_> {
    fn remove(&self) {
        let name = self.bed.namespace();
        // The DaemonSet goes last, after its pods have removed their rules.
        let uid = self.bed.ask(self.daemons.get(name)).uid().unwrap_or_default();
        self.bed.ask(self.daemons.delete(name, &DeleteParams::foreground()));
        self.bed.ask(await_condition(self.daemons.clone(), name, conditions::is_deleted(&uid)));
        let accounts: Api<ServiceAccount> = self.bed.api_in(SYSTEM);
        self.bed.ask(accounts.delete(name, &DeleteParams::default()));
    }
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Checks that the suite removed its namespaces.
fn assert_removed(bed: &Bed) {
    let namespaces = bed.ask(bed.cluster_api::<Namespace>().list(&ListParams::default()));
    let left: Vec<String> = namespaces
        .iter()
        .filter(|namespace| namespace.metadata.deletion_timestamp.is_none())
        .map(ResourceExt::name_any)
        .filter(|name| ["x", "y", "z", "y-2"].contains(&name.as_str()))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_network_that_enforces_no_policy_fails_with_the_right_tests() {
    let Some((bed, _)) = super::bed_alone("policy-none") else { return };
    let done = quick(&bed).expect(1);
    let tests = tests(&bed);
    assert_eq!(tests.len(), 8, "{done:?}");
    for (name, test) in &tests {
        // All connections work, so only the control is right.
        let expected = if name == "no policy: all connections are allowed" { "passed" } else { "failed" };
        assert_eq!(test["status"], expected, "{name}: {test:#}");
    }
    let failure = tests["ingress: deny all"]["details"]["failure"].as_str().unwrap();
    assert!(failure.contains("  y/a -> x/a TCP/80: expected blocked, got allowed"), "{failure}");
    assert!(done.out.contains("ingress: deny all"), "{done:?}");
    assert_removed(&bed);
}

#[test]
fn a_network_that_enforces_policies_passes() {
    let Some((bed, _)) = super::bed_alone("policy-enforced") else { return };
    let _engine = Engine::start(&bed);
    let done = quick(&bed).expect(0);
    assert!(done.err.contains("NetworkPolicy v0.5.6, mode `quick`, 5 required tests"), "{}", done.err);
    let tests = tests(&bed);
    assert_eq!(tests.len(), 8, "{tests:#?}");
    assert!(tests.values().all(|test| test["status"] == "passed"), "{tests:#?}");
    assert_removed(&bed);
}

/// Runs a script in a pod with these labels, until it ends with exit code 0.
fn succeed(bed: &Bed, name: &str, labels: &Value, script: &str) {
    let pod: Pod = from(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": ROUTER, "command": ["bash", "-c", script]}],
        },
    }));
    bed.ask(bed.api::<Pod>().create(&PostParams::default(), &pod));
    let ended = bed.wait_for_pod(name, |pod| ["Succeeded", "Failed"].contains(&phase(pod)));
    assert_eq!(phase(&ended), "Succeeded", "{name}: {ended:?}");
}

#[test]
fn strangers_do_not_reach_the_aggregator_where_policies_are_enforced() {
    let Some((bed, _)) = super::bed_alone("policy-aggregator") else { return };
    let _engine = Engine::start(&bed);
    // A Job is not on the host network, so the policy selects its pod. It runs longer than the probes.
    bed.run(&[Plugin::job("once").args(&["--after=300s"])], &[]).expect(0);
    let address = |pod: &Pod| pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    let aggregator = bed.wait_for_pod("sonobuoy", |pod| address(pod).is_some());
    let policy = bed.ask(bed.api::<NetworkPolicy>().get("plumbline-aggregator")).spec.unwrap();
    let peers = policy.ingress.unwrap().remove(0).from.unwrap();
    let member = json!(peers[0].pod_selector.as_ref().unwrap().match_labels);

    let connects = format!("timeout 5 bash -c 'exec 3<>/dev/tcp/{}/8080'", address(&aggregator).unwrap());
    let until_connected = format!("until {connects}; do sleep 1; done");
    succeed(&bed, "member", &member, &until_connected);
    // The network plugin takes a moment to apply a policy. Without one, this never ends.
    succeed(&bed, "stranger", &json!({}), &format!("while {connects}; do sleep 1; done"));
    // The aggregator still listens.
    succeed(&bed, "member-again", &member, &until_connected);
}
