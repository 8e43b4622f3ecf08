//! `run` over an API server: what it creates, what it rejects, and what it only warns about.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::Path;

use plumbline_dev::{ApiDouble, Fault, FaultKind};
use serde_json::json;

use crate::bed::{Bed, DEADLINE, Done};

const PLUGIN: &str =
    "sonobuoy-config:\n  driver: Job\n  plugin-name: smoke\nspec:\n  name: plugin\n  image: example.org/smoke:v1\n";

struct Cluster {
    bed: Bed,
    double: ApiDouble,
}

impl Cluster {
    async fn new() -> Self {
        let (bed, double) = (Bed::new(), ApiDouble::start().await.unwrap());
        bed.write("kubeconfig", &double.kubeconfig());
        bed.write("smoke.yaml", PLUGIN);
        Self { bed, double }
    }

    /// Runs the binary. The call blocks this thread, and the double answers on others.
    fn plumbline(&self, args: &[&str]) -> Done {
        let kubeconfig = self.bed.path("kubeconfig");
        let args: Vec<&str> = args.iter().copied().chain(["--kubeconfig", kubeconfig.to_str().unwrap()]).collect();
        tokio::task::block_in_place(|| self.bed.plumbline(&args))
    }

    /// Runs a command line on a terminal, where a user types `n`. Returns the exit code and the
    /// output, or `None` without the program `script`.
    fn on_a_terminal(&self, line: &str) -> Option<(Option<i32>, String)> {
        let line = format!("exec ./{line} --kubeconfig kubeconfig");
        let script = self.bed.program(Path::new("script"), &["-qec", &line, "/dev/null"]);
        let mut script = assert_cmd::Command::from_std(script);
        let run = || script.write_stdin("n\n").timeout(DEADLINE).output();
        match tokio::task::block_in_place(run) {
            Ok(output) => Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("SKIPPED: `script` not found");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_sonobuoy_neither_follows_a_run_nor_asks_before_a_deletion() {
    let cluster = Cluster::new().await;
    for name in ["plumbline", "sonobuoy"] {
        symlink(env!("CARGO_BIN_EXE_plumbline"), cluster.bed.path(name)).unwrap();
    }
    let Some((code, shown)) = cluster.on_a_terminal("sonobuoy run -p smoke.yaml") else { return };
    assert_eq!(code, Some(0), "{shown}");
    let (code, shown) = cluster.on_a_terminal("plumbline delete").unwrap();
    assert!(code == Some(130) && shown.contains("delete it? [y/N]"), "{code:?} {shown}");
    assert!(cluster.double.get("pods", "sonobuoy", "sonobuoy").is_some());
    let (code, shown) = cluster.on_a_terminal("sonobuoy delete --wait").unwrap();
    assert!(code == Some(0) && !shown.contains("delete it?"), "{code:?} {shown}");
    assert!(cluster.double.get("namespaces", "", "sonobuoy").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_created_once_and_a_second_one_refused() {
    let cluster = Cluster::new().await;
    let begun = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(0);
    assert!(begun.err.contains("plumbline wait -n sonobuoy"), "{}", begun.err);
    let pod = cluster.double.get("pods", "sonobuoy", "sonobuoy").unwrap();
    assert_eq!(pod["metadata"]["labels"]["sonobuoy-component"], "aggregator");
    let plugins = cluster.double.get("configmaps", "sonobuoy", "sonobuoy-plugins-cm").unwrap();
    assert!(plugins["data"]["plugin-0.yaml"].as_str().unwrap().contains("example.org/smoke:v1"));

    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(refused.err.contains("namespace `sonobuoy` already has a run"), "{}", refused.err);
    cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "other"]).expect(0);
    assert!(cluster.double.get("pods", "other", "sonobuoy").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_aggregator_gets_the_trace_context_of_the_pipeline() {
    let cluster = Cluster::new().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut command = cluster.bed.command(&["run", "-p", "smoke.yaml", "--kubeconfig", "kubeconfig"]);
    command.env("TRACEPARENT", parent).env("TRACESTATE", "vendor=1");
    tokio::task::block_in_place(|| Done::of(command)).expect(0);
    let config = cluster.double.get("configmaps", "sonobuoy", "sonobuoy-config-cm").unwrap();
    let config: serde_json::Value = serde_json::from_str(config["data"]["config.json"].as_str().unwrap()).unwrap();
    let own = &config["Plumbline"]["Telemetry"];
    assert_eq!((&own["TraceParent"], &own["TraceState"]), (&json!(parent), &json!("vendor=1")), "{own}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_not_followed_is_data_too() {
    let cluster = Cluster::new().await;
    let done = cluster.plumbline(&["run", "-p", "smoke.yaml", "--wait=0", "-o", "json"]).expect(0);
    let begun: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&begun["namespace"], &begun["verdict"]), (&"sonobuoy".into(), &json!(null)));
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "x", "--wait=0", "--retrieve"]).expect(2);
    assert!(refused.err.contains("`--wait=0` does not"), "{}", refused.err);
    assert!(cluster.double.get("pods", "x", "sonobuoy").is_none());
    let manifest = cluster.plumbline(&["gen", "-p", "smoke.yaml", "-o", "json"]).expect(0).out;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["kind"], "List");
    assert!(manifest["items"].as_array().unwrap().iter().any(|object| object["kind"] == "Pod"), "{manifest}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_was_printed_is_created() {
    let cluster = Cluster::new().await;
    let manifest = cluster.plumbline(&["gen", "-p", "smoke.yaml", "-n", "audit"]).expect(0).out;
    assert!(cluster.double.list("pods").is_empty());
    cluster.bed.write("run.yaml", &manifest);
    cluster.plumbline(&["run", "-f", "run.yaml"]).expect(0);
    assert!(cluster.double.get("pods", "audit", "sonobuoy").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_creates_nothing() {
    let cluster = Cluster::new().await;
    let done = cluster.plumbline(&["run", "-p", "smoke.yaml", "--dry-run"]).expect(0);
    assert!(done.err.contains("would create pod `sonobuoy` in namespace `sonobuoy`"), "{}", done.err);
    assert!(done.err.contains("permission: "), "{}", done.err);
    assert!(cluster.double.list("pods").is_empty() && cluster.double.list("configmaps").is_empty());
}

/// A plugin with files and with permissions of its own.
const READER: &str = "\
sonobuoy-config: {driver: Job, plugin-name: reader}
spec: {name: plugin, image: 'example.org/reader:v1'}
config-map: {settings.yaml: 'a: 1'}
plumbline: {permissions: {cluster: [{apiGroups: [''], resources: [nodes], verbs: [get, list]}]}}
";

/// Returns the names of the objects in the namespace, and of cluster-wide objects of its run.
fn created(cluster: &Cluster, namespace: &str) -> Vec<String> {
    let resources = ["serviceaccounts", "configmaps", "secrets", "roles", "clusterroles", "clusterrolebindings"];
    let names = |resource: &str| {
        let objects = cluster.double.list(resource).into_iter().filter(|object| {
            let metadata = &object["metadata"];
            metadata["namespace"] == namespace || metadata["labels"]["namespace"] == namespace
        });
        let name = |object: serde_json::Value| format!("{resource}/{}", object["metadata"]["name"].as_str().unwrap());
        objects.map(name).collect::<Vec<_>>()
    };
    resources.into_iter().flat_map(names).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_skips_plugins_creates_nothing_for_them() {
    let cluster = Cluster::new().await;
    cluster.bed.write("reader.yaml", READER);
    cluster.bed.write("config.json", &json!({"SkipPlugins": true}).to_string());
    cluster.bed.write("id_rsa", "key");
    let run = ["run", "-p", "reader.yaml", "-p", "e2e", "--ssh-key", "id_rsa", "--skip-preflight", "-n"];
    cluster.plumbline(&[&run[..], &["all"]].concat()).expect(0);
    let all = created(&cluster, "all");
    for name in [
        "serviceaccounts/plumbline-plugin",
        "serviceaccounts/plumbline-plugin-reader",
        "configmaps/sonobuoy-plugins-cm",
        "configmaps/plugin-reader-cm",
        "secrets/ssh-key",
        "clusterroles/sonobuoy-serviceaccount-all-plugin-reader",
    ] {
        assert!(all.iter().any(|created| created == name), "{name}: {all:?}");
    }
    cluster.plumbline(&[&run[..], &["none", "--config", "config.json"]].concat()).expect(0);
    assert_eq!(
        created(&cluster, "none"),
        [
            "serviceaccounts/sonobuoy-serviceaccount",
            "configmaps/sonobuoy-config-cm",
            "roles/sonobuoy-serviceaccount-sonobuoy",
            "clusterroles/sonobuoy-serviceaccount-none",
            "clusterrolebindings/sonobuoy-serviceaccount-none",
        ]
    );
    let pod = cluster.double.get("pods", "none", "sonobuoy").unwrap();
    let volumes = pod["spec"]["volumes"].as_array().unwrap();
    let maps: Vec<_> = volumes.iter().filter_map(|volume| volume.get("configMap")).collect();
    assert_eq!(maps, [&json!({"name": "sonobuoy-config-cm"})]);
}

#[tokio::test(flavor = "multi_thread")]
async fn created_objects_are_removed_if_the_rest_fails() {
    let cluster = Cluster::new().await;
    cluster.double.fault(Fault {
        method: Some("POST"),
        path_contains: "/pods".to_owned(),
        kind: FaultKind::Status { code: 403, message: "quota is used up".to_owned(), retry_after: None },
        times: 1,
    });
    let failed = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(failed.err.contains("quota is used up") && failed.err.contains("pod `sonobuoy`"), "{}", failed.err);
    for resource in ["configmaps", "serviceaccounts", "clusterroles", "namespaces"] {
        let left = cluster.double.list(resource);
        let ours = left.iter().filter(|object| object["metadata"]["name"].as_str().unwrap().contains("sonobuoy"));
        assert_eq!(ours.count(), 0, "{resource}: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_reported_before_anything_is_created() {
    let cluster = Cluster::new().await;
    cluster.double.deny("create", "clusterroles");
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(refused.err.contains("no permission to create clusterroles"), "{}", refused.err);
    assert!(cluster.double.list("configmaps").is_empty());
    // A run that creates no ClusterRole does not need the permission for it.
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--aggregator-permissions", "namespaceAdmin"]).expect(0);
    assert!(cluster.double.list("clusterroles").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_are_asked_for_what_is_created_and_no_more() {
    let cluster = Cluster::new().await;
    cluster.double.deny("create", "serviceaccounts");
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(refused.err.contains("no permission to create serviceaccounts in namespace `sonobuoy`"), "{}", refused.err);
    // An existing account is not created, and plugins use the one of the namespace.
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--existing-service-account"]).expect(0);
    assert!(cluster.double.list("serviceaccounts").is_empty());
    cluster.double.deny("create", "networkpolicies");
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "two", "--existing-service-account"]).expect(4);
    assert!(refused.err.contains("no permission to create networkpolicies in namespace `two`"), "{}", refused.err);
}

/// The name of the aggregator's ClusterRole, and of its binding.
const ROLE: &str = "sonobuoy-serviceaccount-sonobuoy";

/// Runs with one mode of permissions, and then removes the namespace as `kubectl delete namespace`
/// does.
fn run_and_lose_the_namespace(cluster: &Cluster, mode: &str) {
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--aggregator-permissions", mode]).expect(0);
    cluster.double.remove("namespaces", "", "sonobuoy");
    for resource in ["pods", "configmaps", "services", "serviceaccounts", "roles", "rolebindings", "networkpolicies"] {
        for object in cluster.double.list(resource) {
            if object["metadata"]["namespace"] == "sonobuoy" {
                cluster.double.remove(resource, "sonobuoy", object["metadata"]["name"].as_str().unwrap());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_an_earlier_run_left_behind_is_replaced_in_both_directions() {
    let cluster = Cluster::new().await;
    let rules = |cluster: &Cluster| cluster.double.get("clusterroles", "", ROLE).unwrap()["rules"].to_string();
    for (before, after) in [("clusterAdmin", "minimal"), ("minimal", "clusterAdmin")] {
        run_and_lose_the_namespace(&cluster, before);
        let left = rules(&cluster);
        let run = ["run", "-p", "smoke.yaml", "--aggregator-permissions", after];
        let done = cluster.plumbline(&[&run[..], &["--dry-run"]].concat()).expect(0);
        assert!(done.err.contains(&format!("would update clusterrole `{ROLE}`")), "{}", done.err);
        assert!(done.err.contains(&format!("would keep clusterrolebinding `{ROLE}`")), "{}", done.err);
        assert!(done.err.contains("would create pod `sonobuoy`"), "{}", done.err);
        assert_eq!(rules(&cluster), left, "a dry run changes nothing");
        run_and_lose_the_namespace(&cluster, after);
        assert_eq!(rules(&cluster).contains(r#"["*"],"verbs":["*"]"#), after == "clusterAdmin", "{}", rules(&cluster));
    }
    let deleted = cluster.plumbline(&["delete", "--yes"]).expect(0);
    assert!(deleted.err.contains(&format!("deleted: cluster role `{ROLE}`")), "{}", deleted.err);
    assert!(cluster.double.list("clusterroles").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_the_run_does_not_replace_stops_it() {
    let cluster = Cluster::new().await;
    run_and_lose_the_namespace(&cluster, "clusterAdmin");
    for fewer in [&["--aggregator-permissions", "namespaceAdmin"][..], &["--rbac", "disable"]] {
        for more in [&["--dry-run"][..], &[]] {
            let run = [&["run", "-p", "smoke.yaml"][..], fewer, more].concat();
            let refused = cluster.plumbline(&run).expect(4);
            let binding = format!("ClusterRoleBinding `{ROLE}` of an earlier run");
            assert!(refused.err.contains(&binding) && refused.err.contains("plumbline delete"), "{}", refused.err);
            assert!(cluster.double.list("serviceaccounts").is_empty());
        }
    }
    // The account of another namespace has another name, and one that exists is the user's choice.
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--rbac", "disable", "-n", "two"]).expect(0);
    cluster.plumbline(&["delete", "--yes"]).expect(0);
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--aggregator-permissions", "namespaceAdmin"]).expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_permissions_of_an_earlier_plugin_are_not_inherited() {
    let cluster = Cluster::new().await;
    cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(0);
    let pod = cluster.double.get("pods", "sonobuoy", "sonobuoy").unwrap();
    let account = pod["spec"]["serviceAccountName"].clone();
    cluster.plumbline(&["delete", "--yes"]).expect(0);
    let labels = json!({"component": "sonobuoy", "namespace": "sonobuoy"});
    let binding = |name: &str, namespace: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "sonobuoy"}],
        })
    };
    cluster.double.put("rolebindings", binding("sonobuoy-plugin-old", "kube-system"));
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(refused.err.contains("RoleBinding `sonobuoy-plugin-old` of an earlier run"), "{}", refused.err);
    // Who may not list bindings cannot check them.
    cluster.double.deny("list", "rolebindings");
    cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_of_somebody_else_is_neither_used_nor_replaced() {
    let cluster = Cluster::new().await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": ROLE}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    });
    cluster.double.put("clusterroles", role.clone());
    for more in [&["--dry-run"][..], &[]] {
        let refused = cluster.plumbline(&[&["run", "-p", "smoke.yaml"], more].concat()).expect(4);
        assert!(refused.err.contains(&format!("clusterrole `{ROLE}`")), "{}", refused.err);
        assert!(refused.err.contains("without the labels of this namespace"), "{}", refused.err);
    }
    assert_eq!(cluster.double.get("clusterroles", "", ROLE).unwrap()["rules"], role["rules"]);
    assert!(cluster.double.list("serviceaccounts").is_empty(), "what was created before is removed again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_answer_was_lost_is_ours() {
    let cluster = Cluster::new().await;
    for path in ["/serviceaccounts", "/clusterroles", "/pods"] {
        let (method, path_contains) = (Some("POST"), path.to_owned());
        cluster.double.fault(Fault { method, path_contains, kind: FaultKind::LostAnswer, times: 1 });
    }
    cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(0);
    assert!(cluster.double.get("services", "sonobuoy", "sonobuoy-aggregator").is_some());
}

/// Adds pods of a DNS server to the cluster, so that the check finds them.
fn with_dns(cluster: &Cluster) {
    let metadata = json!({"name": "coredns-1", "namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}});
    cluster.double.put("pods", json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_a_dns_server_is_a_warning() {
    let cluster = Cluster::new().await;
    let missing = "warning: no DNS server for pods was found in namespace `kube-system`";
    let done = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "one"]).expect(0);
    assert!(done.err.contains(missing) && done.err.contains("--dns-pod-labels"), "{}", done.err);
    let done = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "two", "--skip-preflight=dnscheck"]).expect(0);
    assert!(!done.err.contains("DNS"), "{}", done.err);
    let elsewhere = ["run", "-p", "smoke.yaml", "-n", "three", "--dns-namespace", "dns"];
    with_dns(&cluster);
    assert!(cluster.plumbline(&elsewhere).expect(0).err.contains("in namespace `dns`"));
    let done = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "four"]).expect(0);
    assert!(!done.err.contains("DNS"), "{}", done.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_too_old_is_refused_unless_the_check_is_skipped() {
    let cluster = Cluster::new().await;
    with_dns(&cluster);
    cluster.double.set_version("v1.16.15");
    let refused = cluster.plumbline(&["run", "-p", "smoke.yaml"]).expect(4);
    assert!(refused.err.contains("the API server is v1.16.15, older than v1.17"), "{}", refused.err);
    assert!(refused.err.contains("--skip-preflight=versioncheck"), "{}", refused.err);
    assert!(cluster.double.list("configmaps").is_empty());
    // Skipping other checks does not skip this one.
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--skip-preflight=dnscheck,permissions"]).expect(4);
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--skip-preflight=versioncheck"]).expect(0);
    assert!(cluster.double.get("pods", "sonobuoy", "sonobuoy").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_server_is_named_with_what_it_lacks() {
    let cluster = Cluster::new().await;
    with_dns(&cluster);
    cluster.double.set_version("v1.28.9");
    let lacks = "warning: the API server is v1.28.9, which has no native sidecars";
    assert!(cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "one"]).expect(0).err.contains(lacks));
    let skipped = ["run", "-p", "smoke.yaml", "-n", "two", "--skip-preflight=versioncheck"];
    assert!(!cluster.plumbline(&skipped).expect(0).err.contains(lacks));
    cluster.double.set_version("v1.29.0");
    assert!(!cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "three"]).expect(0).err.contains("native sidecars"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_check_is_named_and_the_others_are_made() {
    let cluster = Cluster::new().await;
    with_dns(&cluster);
    cluster.double.deny("create", "clusterroles");
    cluster.plumbline(&["run", "-p", "smoke.yaml", "--skip-preflight=dnscheck,versioncheck"]).expect(4);
    assert!(cluster.double.list("configmaps").is_empty());
    let unknown = cluster.plumbline(&["run", "-p", "smoke.yaml", "--skip-preflight=dns"]).expect(2);
    for name in ["dnscheck", "versioncheck", "existingnamespace", "permissions"] {
        assert!(unknown.err.contains(name), "{name}: {}", unknown.err);
    }
    cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "one"]).expect(4);
    // Without the check, the API server itself rejects the run.
    let refused =
        cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "one", "--skip-preflight=permissions"]).expect(4);
    assert!(refused.err.contains("clusterrole"), "{}", refused.err);
    for all in ["--skip-preflight", "--skip-preflight=true"] {
        let refused = cluster.plumbline(&["run", "-p", "smoke.yaml", "-n", "one", all]).expect(4);
        assert!(!refused.err.contains("this account has no permission"), "{}", refused.err);
    }
}
